/*
 * Checks of an OpenPGP key before any arithmetic with it. Verifying a key computes powers of large numbers, and the sender
 * of the key chooses their size.
 */

/** maximum size of a modulus and of every other number, bits */
const LARGEST_NUMBER = 8192
/** maximum size of an RSA exponent, bits */
const LARGEST_EXPONENT = 32
/** maximum number of packets */
const MOST_PACKETS = 64
/**
 * Maximum size of an OpenPGP key, bytes. Small parts of signatures and photographs cost the library much time for
 * their size.
 */
const LARGEST_KEY = 32_768
/** Maximum number of signatures on one key, user id or user attribute. The library may verify each signature. */
const MOST_SIGNATURES_ON_ONE = 4
/** maximum number of signatures of a whole key */
const MOST_SIGNATURES = 24
/** Maximum number of signatures for a curve on which one verification takes about two milliseconds. */
const MOST_SLOW_SIGNATURES = 8

/**
 * The allowed curves by their object identifiers (hex of the DER content), each with the maximum number of
 * signatures. OpenSSL supports all allowed curves; other curves would take a hundred times as long.
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
/** user id and user attribute */
const USERS = new Set([13, 17])
/** trust and padding */
const OTHERS = new Set([12, 21])

/** The reason why an OpenPGP key is rejected; its message is for the sender. */
export class PgpKeyError extends Error {}

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
    if (length > this.left) throw new PgpKeyError('the key is cut off')
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }
  number(length: number): number {
    return this.take(length).reduce((sum, byte) => sum * 256 + byte, 0)
  }
}

/**
 * Checks the framing, the algorithms, the sizes and the number of signatures of a public key. The check does no
 * arithmetic, so it takes only as long as reading the key once.
 * @param bytes binary key
 * @throws PgpKeyError
 */
export function checkPgpPackets(bytes: Uint8Array): void {
  const reader = new Reader(bytes)
  if (reader.left === 0) throw new PgpKeyError('the key is empty')
  if (reader.left > LARGEST_KEY)
    throw new PgpKeyError(`the key has ${reader.left} bytes (limit ${LARGEST_KEY})${EXPORT_LESS}`)
  const signatures = { onOne: 0, all: 0, most: MOST_SIGNATURES }
  for (let packets = 1; reader.left > 0; packets++) {
    if (packets > MOST_PACKETS)
      throw new PgpKeyError(`the key has more than ${MOST_PACKETS} packets${EXPORT_LESS}`)
    const { tag, body } = nextPacket(reader)
    if (tag === SIGNATURE) {
      signatures.onOne += 1
      signatures.all += 1
    } else if (PUBLIC_KEYS.has(tag)) {
      signatures.onOne = 0
      signatures.most = Math.min(signatures.most, checkPublicKey(new Reader(body)))
    } else if (USERS.has(tag)) signatures.onOne = 0
    else if (!OTHERS.has(tag))
      throw new PgpKeyError('the key has a packet that does not belong in a public key')
    checkSignatures(signatures)
  }
}

/** The advice for a key with too many extra parts. */
const EXPORT_LESS =
  ': export it without photographs and signatures of others (gpg --export-options export-minimal)'

function checkSignatures({ onOne, all, most }: { onOne: number; all: number; most: number }): void {
  if (onOne > MOST_SIGNATURES_ON_ONE)
    throw new PgpKeyError(
      `the key has more than ${MOST_SIGNATURES_ON_ONE} signatures on one key, user id or attribute${EXPORT_LESS}`,
    )
  if (all > most)
    throw new PgpKeyError(
      `the key has more than ${most} signatures, the most that a key of its kind may have${EXPORT_LESS}`,
    )
}

/** Reads one packet of an OpenPGP key. Rejects lengths that only messages use: unknown length and partial bodies. */
function nextPacket(reader: Reader): { tag: number; body: Uint8Array } {
  const head = reader.number(1)
  if (head < 0x80) throw new PgpKeyError('the text is not an OpenPGP key')
  if (head < 0xc0) {
    if ((head & 3) === 3) throw new PgpKeyError('the key has a packet of unknown length')
    return {
      tag: (head >> 2) & 15,
      body: reader.take(reader.number(1 << (head & 3))),
    }
  }
  const first = reader.number(1)
  if (first >= 224 && first < 255) throw new PgpKeyError('the key has a packet split into parts')
  const length =
    first < 192 ? first : first < 224 ? (first - 192) * 256 + reader.number(1) + 192 : reader.number(4)
  return { tag: head & 63, body: reader.take(length) }
}

/** @returns how many signatures a key with this algorithm may have */
function checkPublicKey(body: Reader): number {
  const version = body.number(1)
  if (version !== 4 && version !== 6) throw new PgpKeyError('the version of the key is neither 4 nor 6')
  body.take(4)
  const algorithm = body.number(1)
  if (version === 6) body.take(4)
  const check = materials[algorithm]
  if (!check)
    throw new PgpKeyError(
      `the text contains a key of algorithm ${algorithm}; allowed are RSA, ECDH, ECDSA, EdDSA, X25519 and Ed25519`,
    )
  return check(body)
}

/** Checks one number of the key material. @param bits maximum size of the number */
function checkNumber(body: Reader, bits = LARGEST_NUMBER): void {
  const length = body.number(2)
  if (length > bits) throw new PgpKeyError(`a number in the key has ${length} bits (limit ${bits})`)
  body.take(Math.ceil(length / 8))
}

function checkCurve(body: Reader): number {
  const most = CURVES.get(Buffer.from(body.take(body.number(1))).toString('hex'))
  if (most === undefined) throw new PgpKeyError('the curve of the key is not supported')
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
 * Checks of the key material by the algorithm's number in RFC 9580. DSA (17), ElGamal (16), X448 (26) and Ed448 (28) are
 * not supported, because the library takes too long to compute with them.
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
