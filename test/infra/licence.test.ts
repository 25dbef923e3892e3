import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { readSettings } from '../../infra/settings.ts'
import { requireUnexpiredLicence } from '../../shared/api/licence.ts'

const page = readFileSync(new URL('../../docs/do/deploy.md', import.meta.url), 'utf8')

test('the commands in docs/do/deploy.md print a valid licence', () => {
  const [, block = ''] = /## Licence\n[\s\S]*?```console\n([\s\S]*?)```/.exec(page) ?? []
  const commands = block.replaceAll(/^\$ /gm, '')
  const printed = execFileSync('bash', ['-ec', commands], {
    cwd: mkdtempSync(`${tmpdir()}/licence-`),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const given = Object.fromEntries(
    printed.matchAll(/^(\w+): (.+)$/gm).map(([, name, value]) => [name, value]),
  )
  const settings = readSettings({ stage: 'a', ...given })
  const { license: text = '', licensePublicKey: publicKey = '' } = settings
  expect(requireUnexpiredLicence({ text, publicKey }, Date.now())).toBeUndefined()
})
