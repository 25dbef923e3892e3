/*
 * What of an OpenPGP key is looked at before anything is computed with it. Verifying a key raises numbers to powers:
 * what that costs follows from sizes that whoever sends the key has chosen.
 */

/** Bits of a modulus, and of every other number, at most. */
const LARGEST_NUMBER = 8192
/** Bits of an RSA exponent, and of the order of a DSA group, at most. */
const LARGEST_EXPONENT = 32
const LARGEST_ORDER = 256
/** Packets at most: each signature among them may have to be verified. */
const MOST_PACKETS = 64

/** Object identifiers of the curves that are taken, and that the library computes with, as hex of their DER content. */
const CURVES = new Set([
  '2a8648ce3d030107', // NIST P-256
  '2b81040022', // NIST P-384
  '2b81040023', // NIST P-521
  '2b06010401da470f01', // Ed25519Legacy
  '2b060104019755010501', // Curve25519Legacy
])

const PUBLIC_KEYS = new Set([6, 14])
/** Signature, trust, user id, user attribute, padding: what may stand beside keys. */
const OTHERS = new Set([2, 12, 13, 17, 21])

/** Why a key is refused, for its sender. */
export class KeyFault extends Error {}

class Reader {
  private at = 0
  private readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
  get left(): number {
    return this.bytes.length - this.at
  }
  take(length: number): Uint8Array {
    if (length > this.left) throw new KeyFault('it is cut off')
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }
  number(length: number): number {
    return this.take(length).reduce((sum, byte) => sum * 256 + byte, 0)
  }
}

/**
 * Checks the framing and the sizes of a public key, without any arithmetic: its time is that of reading it once.
 * @param bytes binary key
 * @throws KeyFault
 */
export function checkPackets(bytes: Uint8Array): void {
  const reader = new Reader(bytes)
  if (reader.left === 0) throw new KeyFault('it is empty')
  for (let packets = 1; reader.left > 0; packets++) {
    if (packets > MOST_PACKETS)
      throw new KeyFault(`it has more than ${MOST_PACKETS} packets: export it without signatures of others`)
    const { tag, body } = nextPacket(reader)
    if (PUBLIC_KEYS.has(tag)) checkPublicKey(new Reader(body))
    else if (!OTHERS.has(tag)) throw new KeyFault('it has a packet that no public key has')
  }
}

/** One packet. Forms of unknown length are for messages, and refused. */
function nextPacket(reader: Reader): { tag: number; body: Uint8Array } {
  const head = reader.number(1)
  if (head < 0x80) throw new KeyFault('it is no OpenPGP key')
  if (head < 0xc0) {
    if ((head & 3) === 3) throw new KeyFault('it has a packet of unknown length')
    return {
      tag: (head >> 2) & 15,
      body: reader.take(reader.number(1 << (head & 3))),
    }
  }
  const first = reader.number(1)
  if (first >= 224 && first < 255) throw new KeyFault('it has a packet in parts')
  const length =
    first < 192 ? first : first < 224 ? (first - 192) * 256 + reader.number(1) + 192 : reader.number(4)
  return { tag: head & 63, body: reader.take(length) }
}

function checkPublicKey(body: Reader): void {
  const version = body.number(1)
  if (version !== 4 && version !== 6) throw new KeyFault('it is of another version than 4 and 6')
  body.take(4)
  const algorithm = body.number(1)
  if (version === 6) body.take(4)
  const check = materials[algorithm]
  if (!check) throw new KeyFault('it is of an algorithm that is not taken')
  check(body)
}

/** One number of the material. @param bits how many it may have */
function checkNumber(body: Reader, bits = LARGEST_NUMBER): void {
  const length = body.number(2)
  if (length > bits) throw new KeyFault(`a number in it has ${length} bits, and ${bits} are taken`)
  body.take(Math.ceil(length / 8))
}

function checkNumbers(body: Reader, count: number): void {
  for (let one = 0; one < count; one++) checkNumber(body)
}

function checkCurve(body: Reader): void {
  const curve = Buffer.from(body.take(body.number(1))).toString('hex')
  if (!CURVES.has(curve)) throw new KeyFault('it is on a curve that is not taken')
  checkNumber(body)
}

const rsa = (body: Reader): void => {
  checkNumber(body)
  checkNumber(body, LARGEST_EXPONENT)
}
const dsa = (body: Reader): void => {
  checkNumber(body)
  checkNumber(body, LARGEST_ORDER)
  checkNumbers(body, 2)
}
const fixed = (length: number) => (body: Reader) => void body.take(length)

/** What a key of each algorithm consists of, by its number in RFC 9580. */
const materials: Readonly<Record<number, (body: Reader) => void>> = {
  1: rsa,
  2: rsa,
  3: rsa,
  16: body => checkNumbers(body, 3),
  17: dsa,
  18: checkCurve,
  19: checkCurve,
  22: checkCurve,
  25: fixed(32),
  26: fixed(56),
  27: fixed(32),
  28: fixed(57),
}
