import { text as textOf } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ParsedCommand, parseCommandLine } from '../../../../infra/command/options.ts'
import { runTokenCall } from '../../../../infra/command/tokens.ts'
import { webServer } from '../../../support/service/server.ts'

async function commanded(
  line: string,
  { status = 200, body = {}, environment = { VAULT_TOKEN: 'hvs.mine' } }: Partial<Answered> = {},
) {
  const asked: (string | undefined)[][] = []
  const { url } = await webServer(onTestFinished, (request, response) => {
    void textOf(request).then(sent => {
      asked.push([request.method, request.url, String(request.headers['x-vault-token']), sent])
      response.writeHead(status).end(JSON.stringify(body))
    })
  })
  const [printed, said]: [string[], string[]] = [[], []]
  const read = parseCommandLine(line.split(' '), { VAULT_ADDR: url }) as Parameters<typeof runTokenCall>[0] &
    ParsedCommand
  const ports = {
    environment,
    print: (text: unknown) => void printed.push(String(text)),
    say: said.push.bind(said),
  }
  const exit = await runTokenCall(read, ports).catch((error: Error & { exit: string }) => [
    error.exit,
    error.message,
  ])
  return { exit, asked, said, text: printed.join(''), url }
}
interface Answered {
  status: number
  body: object
  environment: Record<string, string>
}

const data = { id: 'hvs.mine', path: 'auth/cloud/login', policies: ['a', 'b\x1b'], ttl: 60 }

describe('the commands on a token', () => {
  test('lookup prints all data but the token itself', async () => {
    const { exit, asked, text } = await commanded('lookup', { body: { data } })
    expect(exit).toBe('done')
    expect(asked).toEqual([['GET', '/v1/auth/token/lookup-self', 'hvs.mine', '']])
    expect(text).toBe(
      'path               auth/cloud/login\npolicies           ["a","b\\u001b"]\nttl                60\n',
    )
    expect(JSON.parse((await commanded('lookup --json', { body: { data } })).text)).toEqual({
      path: data.path,
      policies: data.policies,
      ttl: 60,
    })
  })

  test('renew asks for the lifetime, prints the answer, and reports warnings', async () => {
    const auth = { client_token: 'hvs.mine', lease_duration: 5400 }
    const body = { auth, warnings: ['too long'] }
    const { asked, text, said } = await commanded('renew --increment 2h', { body })
    expect(asked).toEqual([['POST', '/v1/auth/token/renew-self', 'hvs.mine', '{"increment":7200}']])
    expect({ text, said }).toEqual({ text: 'The token expires in 1h30m0s.\n', said: ['too long'] })
    expect((await commanded('renew --json', { body })).text).toBe('{\n  "lease_duration": 5400\n}\n')
  })

  test('revoke needs no body of the answer', async () => {
    const { exit, asked, text } = await commanded('revoke')
    expect(asked).toEqual([['POST', '/v1/auth/token/revoke-self', 'hvs.mine', '']])
    expect([exit, text]).toEqual(['done', 'The token is revoked.\n'])
  })

  test.each<[line: string, sent: string[], body: object, text: string]>([
    [
      'lookup --accessor a1',
      ['lookup-accessor', '{"accessor":"a1"}'],
      { data: { ...data, id: '', ttl: 7 } },
      'ttl                7\n',
    ],
    [
      'renew --accessor a1 --increment 1h',
      ['renew-accessor', '{"accessor":"a1","increment":3600}'],
      { auth: { client_token: '', lease_duration: 60 } },
      'The token expires in 1m0s.\n',
    ],
    ['revoke --accessor a1', ['revoke-accessor', '{"accessor":"a1"}'], {}, 'The token is revoked.\n'],
  ])('%s sends the accessor with the caller’s token', async (line, [path, sent], body, text) => {
    const ended = await commanded(line, { body })
    expect(ended.exit).toBe('done')
    expect(ended.asked).toEqual([['POST', `/v1/auth/token/${path}`, 'hvs.mine', sent]])
    expect(ended.text).toContain(text)
    expect(ended.text).not.toMatch(/^(id|client_token) /m)
  })

  test.each<[string, Partial<Answered>, string, RegExp]>([
    [
      'revoke --accessor a1',
      { body: { warnings: ['no token has this accessor'] } },
      'refused',
      /^auth\/token\/revoke-accessor at http:\S+ revoked no token: no token has this accessor$/,
    ],
    [
      'revoke --accessor a1',
      { status: 400, body: { errors: ['invalid accessor'] } },
      'refused',
      /revoke-accessor at http:\S+: 400 invalid accessor$/,
    ],
    ['revoke --accessor=', {}, 'usage', /^--accessor must not be empty$/],
    ['lookup --accessor hvs.mine', {}, 'usage', /^--accessor must be an accessor, not a token/],
    ['lookup', { environment: {} }, 'usage', /^lookup needs a token in VAULT_TOKEN$/],
    ['revoke hvs.other', {}, 'usage', /no argument.*VAULT_TOKEN/],
    ['renew --increment soon', {}, 'usage', /--increment/],
    [
      'renew',
      { status: 403, body: { errors: ['permission denied'] } },
      'refused',
      /renew-self at http:.*403/,
    ],
    ['lookup', { body: { data: 7 } }, 'refused', /without data/],
  ])('%s with %j is refused', async (line, world, exit, text) => {
    const ended = await commanded(line, world)
    expect(ended.exit).toEqual([exit, expect.stringMatching(text)])
    expect(ended.text).toBe('')
    if (exit === 'usage') expect(ended.asked).toEqual([])
  })
})
