/*
 * What of an OpenPGP key is looked at before anything is computed with it. Verifying a key raises numbers to powers:
 * what that costs follows from sizes that whoever sends the key has chosen.
 */

/** Bits of a modulus, and of every other number, at most. */
const LARGEST_NUMBER = 8192
/** Bits of an RSA exponent, at most. */
const LARGEST_EXPONENT = 32
/** Packets at most. */
const MOST_PACKETS = 64
/** Bytes of a key at most: small parts of signatures and photographs cost the library much for their size. */
const LARGEST_KEY = 32_768
/** Signatures on one key, user id or user attribute, at most. Each may have to be verified. */
const MOST_SIGNATURES_ON_ONE = 4
/** Signatures of a key in all, at most. */
const MOST_SIGNATURES = 24
/** The same where verifying one takes about two milliseconds. */
const MOST_SLOW_SIGNATURES = 8

/**
 * Object identifiers of the curves that are taken, as hex of their DER content, with the signatures that a key on each may
 * have. The machine's own library computes with all of them: with other curves it would take a hundred times as long.
 */
const CURVES: ReadonlyMap<string, number> = new Map([
  ['2a8648ce3d030107', MOST_SIGNATURES], // NIST P-256
  ['2b81040022', MOST_SIGNATURES], // NIST P-384
  ['2b81040023', MOST_SLOW_SIGNATURES], // NIST P-521
  ['2b06010401da470f01', MOST_SIGNATURES], // Ed25519Legacy
  ['2b060104019755010501', MOST_SIGNATURES], // Curve25519Legacy
])

const SIGNATURE = 2
const PUBLIC_KEYS = new Set([6, 14])
/** User id and user attribute. */
const USERS = new Set([13, 17])
/** Trust and padding. */
const OTHERS = new Set([12, 21])

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
 * Checks the framing, the algorithms, the sizes and the number of signatures of a public key, without any arithmetic: its
 * time is that of reading the key once.
 * @param bytes binary key
 * @throws KeyFault
 */
export function checkPackets(bytes: Uint8Array): void {
  const reader = new Reader(bytes)
  if (reader.left === 0) throw new KeyFault('it is empty')
  if (reader.left > LARGEST_KEY)
    throw new KeyFault(`it has ${reader.left} bytes, and ${LARGEST_KEY} are taken${EXPORT_LESS}`)
  const signatures = { onOne: 0, all: 0, most: MOST_SIGNATURES }
  for (let packets = 1; reader.left > 0; packets++) {
    if (packets > MOST_PACKETS) throw new KeyFault(`it has more than ${MOST_PACKETS} packets${EXPORT_LESS}`)
    const { tag, body } = nextPacket(reader)
    if (tag === SIGNATURE) {
      signatures.onOne += 1
      signatures.all += 1
    } else if (PUBLIC_KEYS.has(tag)) {
      signatures.onOne = 0
      signatures.most = Math.min(signatures.most, checkPublicKey(new Reader(body)))
    } else if (USERS.has(tag)) signatures.onOne = 0
    else if (!OTHERS.has(tag)) throw new KeyFault('it has a packet that no public key has')
    checkSignatures(signatures)
  }
}

/** What to do where a key has too much beside what is needed. */
const EXPORT_LESS =
  ': export it without photographs and signatures of others (gpg --export-options export-minimal)'

function checkSignatures({ onOne, all, most }: { onOne: number; all: number; most: number }): void {
  if (onOne > MOST_SIGNATURES_ON_ONE)
    throw new KeyFault(
      `it has more than ${MOST_SIGNATURES_ON_ONE} signatures on one key, user id or attribute${EXPORT_LESS}`,
    )
  if (all > most)
    throw new KeyFault(
      `it has more than ${most} signatures, the most that a key of its kind may have${EXPORT_LESS}`,
    )
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

/** @returns how many signatures a key of this algorithm may have in all */
function checkPublicKey(body: Reader): number {
  const version = body.number(1)
  if (version !== 4 && version !== 6) throw new KeyFault('it is of another version than 4 and 6')
  body.take(4)
  const algorithm = body.number(1)
  if (version === 6) body.take(4)
  const check = materials[algorithm]
  if (!check)
    throw new KeyFault(
      `a key in it is of the algorithm ${algorithm}, and only RSA, ECDH, ECDSA, EdDSA, X25519 and Ed25519 are taken`,
    )
  return check(body)
}

/** One number of the material. @param bits how many it may have */
function checkNumber(body: Reader, bits = LARGEST_NUMBER): void {
  const length = body.number(2)
  if (length > bits) throw new KeyFault(`a number in it has ${length} bits, and ${bits} are taken`)
  body.take(Math.ceil(length / 8))
}

function checkCurve(body: Reader): number {
  const most = CURVES.get(Buffer.from(body.take(body.number(1))).toString('hex'))
  if (most === undefined) throw new KeyFault('it is on a curve that is not taken')
  checkNumber(body)
  return most
}

function checkRsa(body: Reader): number {
  checkNumber(body)
  checkNumber(body, LARGEST_EXPONENT)
  return MOST_SIGNATURES
}

function checkPoint(body: Reader): number {
  body.take(32)
  return MOST_SIGNATURES
}

/**
 * Checks of the key material, by the algorithm's number in RFC 9580. DSA (17), ElGamal (16), X448 (26) and Ed448 (28) are
 * not taken: what the library computes with them costs too much.
 */
const materials: Readonly<Record<number, (body: Reader) => number>> = {
  1: checkRsa,
  2: checkRsa,
  3: checkRsa,
  18: checkCurve,
  19: checkCurve,
  22: checkCurve,
  25: checkPoint,
  27: checkPoint,
}
