import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { auditLog } from '../../../shared/adapters/aws/audit.ts'
import { readEnvironment } from '../../../shared/adapters/aws/environment.ts'

/** The audit log of a function with these variables, and what its console is given. */
function withVariables(variables: Record<string, string>) {
  const given: unknown[][] = []
  const console = vi.spyOn(globalThis.console, 'info').mockImplementation((...all) => void given.push(all))
  const output = vi.spyOn(process.stdout, 'write')
  onTestFinished(() => {
    console.mockRestore()
    output.mockRestore()
  })
  const needed = { AWS_REGION: 'eu-west-1', DATA_TABLE: 'd', CLUSTER_TABLE: 'c' }
  return { audit: auditLog(readEnvironment({ ...needed, ...variables })), given, output }
}

const entry = { audit: 'request', request: { path: 'a\nb', data: 'x'.repeat(30_000) } }

describe('entries of the audit log on Lambda', () => {
  test.each(['', 'TRACE', 'DEBUG', 'INFO', 'info'])(
    'leave by one call of the runtime’s console each, as an object (level "%s")',
    async level => {
      const { audit, given, output } = withVariables({
        AWS_LAMBDA_LOG_FORMAT: 'JSON',
        AWS_LAMBDA_LOG_LEVEL: level,
      })
      await audit.write(entry)
      await audit.write({ audit: 'response' })
      expect(given).toEqual([[entry], [{ audit: 'response' }]])
      expect(output).not.toHaveBeenCalled()
    },
  )

  test.each([
    { AWS_LAMBDA_LOG_FORMAT: 'Text' },
    {},
    { AWS_LAMBDA_LOG_FORMAT: 'JSON', AWS_LAMBDA_LOG_LEVEL: 'WARN' },
    { AWS_LAMBDA_LOG_FORMAT: 'JSON', AWS_LAMBDA_LOG_LEVEL: 'error' },
    { AWS_LAMBDA_LOG_FORMAT: 'JSON', AWS_LAMBDA_LOG_LEVEL: 'FATAL' },
  ])('are not written at all where nothing would carry them: %j', async variables => {
    const { audit, given } = withVariables(variables)
    await expect(audit.write(entry)).rejects.toThrow('log format JSON')
    expect(given).toEqual([])
  })
})

test('entries in a file are one line each', async () => {
  const directory = mkdtempSync(`${tmpdir()}/cloud-auth-audit-`)
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const { audit, given } = withVariables({ AUDIT_FILE: `${directory}/audit.log` })
  await audit.write(entry)
  await audit.write({ audit: 'response' })
  expect(readFileSync(`${directory}/audit.log`, 'utf8').split('\n')).toEqual([
    JSON.stringify(entry),
    '{"audit":"response"}',
    '',
  ])
  expect(given).toEqual([])
})
