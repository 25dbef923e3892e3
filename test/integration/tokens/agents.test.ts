import { describe, expect, test } from 'vitest'
import type { Reply } from '../../support/service/api.ts'
import { api, done, fresh, tokenWith } from '../../support/service/cluster.ts'

const READ = 'path "sys/policies/acl/*" { capabilities = ["read"] }'
const NOTHING = 'path "nothing" { capabilities = ["read"] }'

/**
 * The rule by which Vault's Agent 1.19 logs in again: an answer to a request with its own token satisfies
 * this predicate.
 */
const logsInAgain = ({ status, body }: Reply): boolean =>
  status === 403 &&
  (body.errors as string[])
    .map(text => `* ${text}`)
    .join('\n')
    .includes('invalid token')

const asked = (token: string) => api('GET', '/sys/policies/acl/default', undefined, { token })

describe("Vault's Agent", () => {
  const dead: [string, () => Promise<string>][] = [
    ['was never issued', async () => `hvs.${'x'.repeat(24)}`],
    ['was encrypted by another cluster', async () => `hvb.${'x'.repeat(60)}`],
    [
      'was revoked',
      async () => {
        const token = await tokenWith(READ)
        await done('POST', '/auth/token/revoke', { token })
        return token
      },
    ],
    [
      'was revoked with its parent',
      async () => {
        const parent = await tokenWith(`${READ} path "auth/token/create" { capabilities = ["update"] }`)
        const { body } = await done('POST', '/auth/token/create', {}, { token: parent })
        await done('POST', '/auth/token/revoke', { token: parent })
        return body.auth.client_token
      },
    ],
    [
      'has no use left',
      async () => {
        const token = await tokenWith(READ, { num_uses: 1 })
        expect((await asked(token)).status).toBe(200)
        return token
      },
    ],
  ]
  test.each(dead)('logs in again when its token %s', async (_, made) => {
    expect(logsInAgain(await asked(await made()))).toBe(true)
  })

  test.each<[string, () => Promise<string>]>([
    ['sent', async () => ''],
    ['with a token without permission', () => tokenWith(NOTHING)],
    ['with a token bound to another network', () => boundElsewhere()],
  ])('does not log in again %s', async (_, made) => {
    const reply = await asked(await made())
    expect([reply.status, logsInAgain(reply)]).toEqual([403, false])
  })
})

async function boundElsewhere(): Promise<string> {
  const name = fresh('elsewhere')
  await done('POST', `/auth/token/roles/${name}`, {
    token_bound_cidrs: '10.0.0.0/8',
    allowed_policies: 'default',
  })
  const { body } = await done('POST', `/auth/token/create/${name}`, { policies: ['default'] })
  return body.auth.client_token
}
