import { describe, expect, test } from 'vitest'
import { createLocalAuthority, createServerTls } from '../../../../infra/local/gateway/tls.ts'
import {
  type AuthorityParameters,
  loadAuthorities,
  parseAuthorities,
} from '../../../../shared/replication/handlers/certificates.ts'

const [one, two, three] = ['one', 'two', 'three'].map(name => createLocalAuthority(name).cert.trim()) as [
  string,
  string,
  string,
]
const SHIPPED = { 'a.pem': one, 'old/a.pem': two, 'old/older/b.pem': three, 'older.pem': three }

const found = async (given: AuthorityParameters, shipped: Record<string, string> = SHIPPED) =>
  loadAuthorities(given, { shipped: async () => new Map(Object.entries(shipped)) }).then(
    pem => pem?.match(/-----BEGIN[\s\S]*?-----END CERTIFICATE-----/g),
    (error: Error) => error.message,
  )

describe('certificates of the authorities for a primary’s certificate', () => {
  test.each<[name: string, given: AuthorityParameters, pem: string[] | undefined]>([
    ['no parameter: the public authorities', { ca_cert: '', ca_file: '', ca_path: '' }, undefined],
    ['their text', { ca_cert: `${one}\n\n${two}\n` }, [one, two]],
    ['a file', { ca_file: 'a.pem' }, [one]],
    ['a file in a folder', { ca_file: './old/a.pem' }, [two]],
    ['a folder, including its subfolders', { ca_path: 'old' }, [two, three]],
    ['a folder in another spelling', { ca_path: './old//' }, [two, three]],
    ['the root folder, without duplicates', { ca_path: '.' }, [one, two, three]],
    ['several parameters', { ca_cert: two, ca_file: 'a.pem', ca_path: 'old/older' }, [two, one, three]],
  ])('certificates are found by %s', async (_, given, pem) => expect(await found(given)).toEqual(pem))

  const NAMES = 'a.pem, old/a.pem, old/older/b.pem, older.pem'
  const NEXT =
    'name a file or folder relative to the folder in the setting caBundles, or give the certificates as ca_cert'
  test.each<[given: AuthorityParameters]>([
    [{ ca_file: 'b.pem' }],
    [{ ca_file: 'old' }],
    [{ ca_file: '/a.pem' }],
    [{ ca_file: '../a.pem' }],
    [{ ca_file: 'old/../a.pem' }],
    [{ ca_file: 'A.PEM' }],
    [{ ca_file: 'constructor' }],
    [{ ca_path: 'a.pem' }],
    [{ ca_path: '/' }],
    [{ ca_path: '..' }],
    [{ ca_path: 'ol' }],
  ])('the name %j matches no certificate file of the deployment', async given => {
    const [[field = '', name]] = Object.entries(given) as [[string, string]]
    expect(await found(given)).toBe(
      `${field} ${JSON.stringify(name)} names no certificate file of this deployment, which has: ${NAMES}; ${NEXT}`,
    )
  })

  test('a deployment without certificates is reported as such', async () => {
    expect(await found({ ca_file: 'a.pem' }, {})).toBe(
      `ca_file: this deployment has no certificate files; ${NEXT}`,
    )
  })

  test('the number of certificates is limited to what a link stores', async () => {
    const large = { ...SHIPPED, 'large.pem': createLocalAuthority('x'.repeat(15_000)).cert }
    expect(await found({ ca_path: 'old' }, large)).toHaveLength(2)
    expect(await found({ ca_path: '.' }, large)).toMatch(
      /^the certificates of authorities are larger than 32 KiB; /,
    )
  })

  test.each([
    ['an empty text', ''],
    ['a key', createServerTls('server').key],
    ['a certificate with other text', `${one}\nTrust me.`],
    ['malformed PEM', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
  ])('%s is not a certificate of an authority', (_, text) => expect(parseAuthorities(text)).toBeUndefined())
})
