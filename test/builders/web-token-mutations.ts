import { sign } from 'node:crypto'
import { encoded, privateKeys, usualClaims, usualHeader } from './web-token.ts'

/** Returns numbers from 0 to 1. */
type Chance = () => number

const below = (chance: Chance, limit: number): number => Math.floor(chance() * limit)
const oneOf = <T>(chance: Chance, values: readonly [T, ...T[]]): T =>
  values[below(chance, values.length)] ?? values[0]

const algorithms = ['RS256', 'ES384'] as const
type Algorithm = (typeof algorithms)[number]

/** A token before it is signed. `head` and `body` are JSON texts, or texts that are no longer JSON. */
interface Draft {
  head: string
  body: string
  /** the key that signs; its algorithm may differ from the header's */
  signer: Algorithm
}

const VALUES = [
  'null',
  'true',
  '0',
  '-1',
  '1.5',
  '1e3',
  '1790000000.0',
  '9007199254740993',
  '""',
  '"x"',
  '"JWT"',
  '"none"',
  '"RS256"',
  '"ES384"',
  '"HS256"',
  '"PS256"',
  '"RSA_0"',
  '"EC384_0"',
  '[]',
  '["https://cloud-auth.example"]',
  '{}',
  '"https://accounts.google.com"',
] as const
const NAMES = {
  head: ['alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'jku', 'x5c', 'zip', 'other'],
  body: ['iss', 'sub', 'aud', 'iat', 'exp', 'nbf', 'jti', 'https://sts.amazonaws.com/', 'scope'],
} as const
const PIECES = [
  ' ',
  '\n',
  ',',
  '"',
  '{',
  '}',
  '\\u0061',
  '\\',
  '\u0000',
  'é',
  '\uFEFF',
  ',"a":1',
  '"sub":"x",',
] as const

type Change = (draft: Draft, chance: Chance) => Draft

const anyPart = (chance: Chance) => oneOf(chance, ['head', 'body'] as const)

/** Changes of a token before it is signed. */
const changes: readonly [Change, ...Change[]] = [
  // a member that is added, or a second time, with another value
  (draft, chance) => {
    const part = anyPart(chance)
    const member = `"${oneOf<string>(chance, NAMES[part] as never)}":${oneOf(chance, VALUES)}`
    return { ...draft, [part]: `${draft[part].slice(0, -1)},${member}}` }
  },
  // a member with another value
  (draft, chance) => {
    const part = anyPart(chance)
    const name = oneOf<string>(chance, NAMES[part] as never)
    const value = oneOf(chance, VALUES)
    return {
      ...draft,
      [part]: draft[part].replace(new RegExp(`"${name}":("[^"]*"|\\d+)`), `"${name}":${value}`),
    }
  },
  // a text of the claims with other characters
  (draft, chance) => ({
    ...draft,
    body: draft.body.replace(
      oneOf(chance, ['svc', 'cloud-auth', 'a1b2', '111122223333'] as const),
      oneOf(chance, ['x', '', 'é', '\\u0000', '\\n', '😀', '%2e', '..'] as const),
    ),
  }),
  // white space and other pieces at any place
  (draft, chance) => {
    const part = anyPart(chance)
    const at = below(chance, draft[part].length + 1)
    return { ...draft, [part]: draft[part].slice(0, at) + oneOf(chance, PIECES) + draft[part].slice(at) }
  },
  // white space between members, which is valid JSON
  draft => ({ ...draft, body: draft.body.replaceAll('":', '" : ') }),
  draft => ({ ...draft, head: ` ${draft.head}\n` }),
  // the other algorithm, with and without its key
  draft => ({ ...draft, signer: draft.signer === 'RS256' ? 'ES384' : 'RS256' }),
  draft => ({
    ...draft,
    signer: 'ES384',
    head: draft.head.replace('"RS256"', '"ES384"').replace('"RSA_0"', '"EC384_0"'),
  }),
]

/** Changes of a signed token. */
const damages: readonly [
  (token: string, chance: Chance) => string,
  ...((token: string, chance: Chance) => string)[],
] = [
  // a character
  (token, chance) => {
    const at = below(chance, token.length)
    return token.slice(0, at) + oneOf(chance, [...'ABxyz019-_+/=. '] as never) + token.slice(at + 1)
  },
  // the last characters, whose unused bits a lenient reader ignores
  (token, chance) => token.slice(0, -1) + oneOf(chance, [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg'] as never),
  (token, chance) => token.slice(0, below(chance, token.length)),
  (token, chance) => token + oneOf(chance, ['=', '.', 'A', 'AA', '\n', '\u0000'] as const),
  // the parts in another order, or twice
  (token, chance) => {
    const parts = token.split('.')
    return [0, 1, 2].map(() => parts[below(chance, parts.length)]).join('.')
  },
  // the signature with other bytes or another length
  (token, chance) => {
    const [head = '', body = '', tail = ''] = token.split('.')
    const bytes = Buffer.from(tail, 'base64url')
    const changed = oneOf(chance, [
      () => Buffer.concat([Buffer.alloc(1), bytes]),
      () => bytes.subarray(1),
      () => Buffer.concat([bytes, Buffer.alloc(1)]),
      () => Buffer.concat([bytes.subarray(bytes.length / 2), bytes.subarray(0, bytes.length / 2)]),
      () => Buffer.alloc(bytes.length, oneOf(chance, [0, 1, 255] as const)),
    ] as const)()
    return `${head}.${body}.${changed.toString('base64url')}`
  },
]

function signDraft({ head, body, signer }: Draft): string {
  const signed = `${encoded(head)}.${encoded(body)}`
  const signature = sign(signer === 'RS256' ? 'sha256' : 'sha384', Buffer.from(signed), {
    key: privateKeys[signer],
    ...(signer === 'ES384' ? { dsaEncoding: 'ieee-p1363' as const } : {}),
  })
  return `${signed}.${signature.toString('base64url')}`
}

const usualDraft: Draft = {
  head: JSON.stringify(usualHeader),
  body: JSON.stringify(usualClaims),
  signer: 'RS256',
}
const usualToken = signDraft(usualDraft)

/**
 * Returns a token with one to three changes. Half of the tokens are changed after they are signed. Equal numbers make
 * equal changes.
 */
export function mutateToken(chance: Chance): string {
  if (chance() < 0.5) return oneOf(chance, damages)(usualToken, chance)
  let draft = usualDraft
  for (let left = 1 + below(chance, 3); left > 0; left--) draft = oneOf(chance, changes)(draft, chance)
  const token = signDraft(draft)
  return chance() < 0.1 ? oneOf(chance, damages)(token, chance) : token
}
