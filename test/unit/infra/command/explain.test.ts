import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { explainLogin } from '../../../../infra/command/login/explain.ts'
import { readLoginFile, writeLoginFile } from '../../../../infra/command/login/login-file.ts'
import { runLogin } from '../../../../infra/command/login/runs.ts'
import { type ParsedCommand, parseCommandLine } from '../../../../infra/command/options.ts'
import type { TerminalText } from '../../../../infra/command/output.ts'
import { webServer } from '../../../support/service/server.ts'

const folder = mkdtempSync(`${tmpdir()}/explain-`)
beforeAll(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'x')
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

const refusedBy = {
  role: 'app',
  login_would_succeed: false,
  checks: [
    { check: 'token_bound_cidrs', verdict: 'not required', seen: '10.0.0.1' },
    { check: 'auth_type', verdict: 'pass', seen: 'iam', wanted: 'iam' },
    { check: 'bound_ami_id', verdict: 'fail', seen: 'ami-1', wanted: ['ami-2\x1b[2J'], message: 'no' },
  ],
}

/** Runs a command against a server with one answer. */
async function commanded(
  run: typeof explainLogin,
  line: string,
  {
    status = 200,
    body = { data: refusedBy },
    environment = { VAULT_TOKEN: 'hvs.t' },
  }: { status?: number; body?: object; environment?: Record<string, string> } = {},
) {
  const bodies: string[] = []
  const { url, requests } = await webServer(onTestFinished, (request, response) => {
    void textOf(request).then(sent => {
      bodies.push(sent)
      response.writeHead(status).end(JSON.stringify(body))
    })
  })
  const said: string[] = []
  const printed: TerminalText[] = []
  const read = parseCommandLine(line.split(' '), { VAULT_ADDR: url }) as ParsedCommand
  const ports = {
    environment,
    print: (text: TerminalText) => void printed.push(text),
    say: (text: string) => void said.push(text),
  }
  const exit = await run(read, ports).catch((error: Error & { exit: string }) => [error.exit, error.message])
  const text = printed
    .flat()
    .map(part => (typeof part === 'string' ? part : part.text))
    .join('')
  return { exit, said, text, requests, bodies }
}

describe('explain', () => {
  test('explain sends the login of this workload and prints each check, what was seen and what is wanted', async () => {
    const { exit, text, requests, bodies } = await commanded(explainLogin, 'explain --role app --mount aws')
    expect(exit).toBe('unwell')
    const [request] = requests
    expect([request?.method, request?.url]).toEqual(['POST', '/v1/auth/aws/role/app/explain'])
    expect(request?.headers['x-vault-token']).toBe('hvs.t')
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ iam_http_request_method: 'POST' })
    expect(text).toBe(`not required token_bound_cidrs
             seen    10.0.0.1
pass         auth_type
             seen    iam
             wanted  iam
fail         bound_ami_id
             seen    ami-1
             wanted  ["ami-2\\u001b[2J"]
             answer  no

A login with role app would fail at the check "bound_ami_id": no.
`)
  })

  test('explain --login sends the login in the file, and finds the role there', async () => {
    const file = `${folder}/login.json`
    writeFileSync(file, JSON.stringify({ role: 'app/../x', pkcs7: 'MII' }))
    const data = { role: 'app', login_would_succeed: true, checks: [] }
    const { exit, requests, bodies } = await commanded(explainLogin, `explain --login ${file}`, {
      body: { data },
    })
    expect(exit).toBe('done')
    expect(requests[0]?.url).toBe('/v1/auth/cloud/role/app%2F..%2Fx/explain')
    expect(JSON.parse(bodies[0] ?? '')).toEqual({ pkcs7: 'MII' })
  })

  test('explain --json prints the answer', async () => {
    const { text } = await commanded(explainLogin, 'explain --role app --json')
    expect(JSON.parse(text)).toEqual(refusedBy)
  })

  test.each<[string, string, Parameters<typeof commanded>[2], string, RegExp]>([
    ['without a token', '--role r', { environment: {} }, 'usage', /VAULT_TOKEN.*--dry-run/],
    [
      'with a token of two lines',
      '--role r',
      { environment: { VAULT_TOKEN: 'a\nb' } },
      'usage',
      /characters/,
    ],
    ['without a role', '--mount aws', {}, 'usage', /--role/],
    ['with a role that leaves its path', '--role ..', {}, 'usage', /--role/],
    ['with an argument', 'x --role r', {}, 'usage', /no argument/],
    ['of a forbidden role', '--role r', { status: 403 }, 'refused', /403.*VAULT_TOKEN needs update/],
    ['of a missing role', '--role r', { status: 404 }, 'refused', /--mount and --role/],
    ['with an odd answer', '--role r', { body: { data: [] } }, 'refused', /without an explanation/],
  ])('explain %s is refused', async (_, words, world, exit, text) => {
    const ended = await commanded(explainLogin, `explain ${words}`, world)
    expect(ended.exit).toEqual([exit, expect.stringMatching(text)])
    expect(ended.text).toBe('')
  })
})

describe('login --dry-run', () => {
  test('the login is written to a new file that only its owner may read, and nothing is sent', async () => {
    const file = `${folder}/dry.json`
    const { exit, text, said, requests } = await commanded(
      runLogin,
      `login --dry-run --role app --output ${file}`,
    )
    expect({ exit, text, requests }).toEqual({ exit: 'done', text: '', requests: [] })
    expect(said).toEqual([expect.stringContaining('credential')])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readLoginFile(file)).toMatchObject({ role: 'app', iam_request_url: expect.any(String) })
  })

  test('the login is printed only with --show-secrets, with a warning on standard error', async () => {
    const { exit, text, said } = await commanded(runLogin, 'login --dry-run --show-secrets')
    expect(exit).toBe('done')
    expect(JSON.parse(text)).toHaveProperty('iam_request_headers')
    expect(said).toEqual([expect.stringContaining('credential')])
  })

  test.each([
    ['--dry-run', /--show-secrets/],
    [`--dry-run --show-secrets --output ${folder}/both`, /either/],
    [`--dry-run --json --output ${folder}/json`, /--json/],
    [`--output ${folder}/wet`, /--dry-run/],
    ['--show-secrets', /--dry-run/],
  ])('login %s is refused and writes nothing', async (words, text) => {
    const before = readdirSync(folder)
    const ended = await commanded(runLogin, `login ${words}`)
    expect(ended).toMatchObject({ exit: ['usage', expect.stringMatching(text)], text: '', requests: [] })
    expect(readdirSync(folder)).toEqual(before)
  })
})

describe('the file of a login', () => {
  test('an existing file and a link are not overwritten', () => {
    writeFileSync(`${folder}/mine`, 'kept')
    symlinkSync(`${folder}/mine`, `${folder}/link`)
    for (const name of ['mine', 'link'])
      expect(() => writeLoginFile(`${folder}/${name}`, {})).toThrow(/exists/)
    expect(readFileSync(`${folder}/mine`, 'utf8')).toBe('kept')
  })

  test.each([
    ['a list', '[]'],
    ['no JSON', '{'],
    ['over 64 KiB', JSON.stringify({ pkcs7: 'x'.repeat(64 * 1024) })],
  ])('a file with %s is refused', (_, text) => {
    writeFileSync(`${folder}/odd`, text)
    expect(() => readLoginFile(`${folder}/odd`)).toThrow(/must be a login/)
  })

  test('a missing file is named', () =>
    expect(() => readLoginFile(`${folder}/none`)).toThrow(`${folder}/none cannot be opened (ENOENT)`))
})
