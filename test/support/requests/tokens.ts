import type { ResponseAuth } from '../../../shared/api/call.ts'
import type { CallOptions, Reply } from '../service/api.ts'
import { api, done, tokenWith } from '../service/cluster.ts'

/** Makes a token as root, or with another token. */
export async function make(
  given: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<ResponseAuth> {
  const reply = await done('POST', '/auth/token/create', given, options)
  return reply.body.auth as ResponseAuth
}

/** Tries to make a token, and returns the answer. The request may fail. */
export const tryMake = (given: unknown, options: CallOptions = {}): Promise<Reply> =>
  api('POST', '/auth/token/create', given, options)

/** Looks up a token as root. */
export const lookUp = async (token: string): Promise<Record<string, unknown>> =>
  (await done('POST', '/auth/token/lookup', { token })).body.data

/**
 * Reports whether a token is valid, by a look-up with the token itself. The token needs the policy `default`.
 */
export const lives = async (token: string): Promise<boolean> =>
  (await api('GET', '/auth/token/lookup-self', undefined, { token })).status === 200

/** Makes a token that may make tokens and has the policy `default`. */
export const makerWith = (capabilities = '"update"', given: Record<string, unknown> = {}): Promise<string> =>
  tokenWith(
    ['create', 'create-orphan', 'create/*']
      .map(path => `path "auth/token/${path}" { capabilities = [${capabilities}] }`)
      .join('\n'),
    { no_default_policy: false, ...given },
  )
