import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAuditLog } from '../../../shared/adapters/aws/audit.ts'
import { readEnvironment } from '../../../shared/adapters/aws/environment.ts'

/** Creates the audit log of a function with some environment variables, and records its console output. */
function withVariables(variables: Record<string, string>, write?: Parameters<typeof createAuditLog>[1]) {
  const given: unknown[][] = []
  const console = vi.spyOn(globalThis.console, 'info').mockImplementation((...all) => void given.push(all))
  const output = vi.spyOn(process.stdout, 'write')
  onTestFinished(() => {
    console.mockRestore()
    output.mockRestore()
  })
  const needed = { AWS_REGION: 'eu-west-1', DATA_TABLE: 'd', CLUSTER_TABLE: 'c' }
  return { audit: createAuditLog(readEnvironment({ ...needed, ...variables }), write), given, output }
}

const entry = { audit: 'request', request: { path: 'a\nb', data: 'x'.repeat(30_000) } }

describe('entries of the audit log on Lambda', () => {
  test.each(['', 'TRACE', 'DEBUG', 'INFO', 'info'])(
    'each entry is printed with one console call, as an object (level "%s")',
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

  test('entries of a Web Function are printed as objects too, without a log-format variable', async () => {
    const { audit, given } = withVariables({ AWS_LAMBDA_HTTP_ENDPOINT: '0.0.0.0:3000' })
    await audit.write(entry)
    expect(given).toEqual([[entry]])
  })

  test.each([
    { AWS_LAMBDA_LOG_FORMAT: 'Text' },
    { AWS_LAMBDA_HTTP_ENDPOINT: '0.0.0.0:3000', AWS_LAMBDA_LOG_LEVEL: 'WARN' },
    {},
    { AWS_LAMBDA_LOG_FORMAT: 'JSON', AWS_LAMBDA_LOG_LEVEL: 'WARN' },
    { AWS_LAMBDA_LOG_FORMAT: 'JSON', AWS_LAMBDA_LOG_LEVEL: 'error' },
    { AWS_LAMBDA_LOG_FORMAT: 'JSON', AWS_LAMBDA_LOG_LEVEL: 'FATAL' },
  ])('an entry that no subscription would find is rejected: %j', async variables => {
    const { audit, given } = withVariables(variables)
    await expect(audit.write(entry)).rejects.toThrow('log format JSON')
    expect(given).toEqual([])
  })
})

/** Creates an audit log that writes to a file. */
function inFile(write?: (file: number, bytes: Buffer) => number) {
  const directory = mkdtempSync(`${tmpdir()}/cloud-auth-audit-`)
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = `${directory}/audit.log`
  return {
    ...withVariables({ AUDIT_FILE: file }, write),
    lines: () => readFileSync(file, 'utf8').split('\n'),
  }
}

describe('entries in a file', () => {
  test('requests are refused while the disk is full, or the audit file cannot be opened', async () => {
    const { audit } = withVariables({ AUDIT_FILE: '/dev/full' })
    await expect(audit.write(entry)).rejects.toMatchObject({
      code: 'busy',
      message: expect.stringContaining('(ENOSPC)'),
    })
    const directory = mkdtempSync(`${tmpdir()}/cloud-auth-audit-`)
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const later = withVariables({ AUDIT_FILE: `${directory}/not/yet/audit.log` }).audit
    await expect(later.write(entry)).rejects.toMatchObject({
      code: 'busy',
      message: expect.stringContaining('(ENOENT)'),
    })
    mkdirSync(`${directory}/not/yet`, { recursive: true })
    await later.write({ audit: 'request' })
    expect(readFileSync(`${directory}/not/yet/audit.log`, 'utf8')).toBe('{"audit":"request"}\n')
  })

  test('each entry is one line', async () => {
    const { audit, given, lines } = inFile()
    await audit.write(entry)
    await audit.write({ audit: 'response' })
    expect(lines()).toEqual([JSON.stringify(entry), '{"audit":"response"}', ''])
    expect(given).toEqual([])
  })

  test('entries of one turn of the event loop are written together, and count as logged after the write', async () => {
    let writes = 0
    const { audit, lines } = inFile((file, bytes) => {
      writes += 1
      return writeSync(file, bytes)
    })
    const written: number[] = []
    const all = [1, 2, 3].map(number => audit.write({ number }).then(() => void written.push(number)))
    await undefined
    expect(written).toEqual([])
    await Promise.all(all)
    expect([written, lines()]).toEqual([
      [1, 2, 3],
      ['{"number":1}', '{"number":2}', '{"number":3}', ''],
    ])
    expect(writes).toBe(1)
  })

  test('an entry counts as logged only if the whole entry is written', async () => {
    const { audit } = inFile((file, bytes) => writeSync(file, bytes.subarray(0, 18)))
    const told = await Promise.allSettled([1, 2, 3].map(number => audit.write({ number })))
    expect(told.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  test('if nothing can be written all entries of a turn fail; an entry that is not JSON fails alone', async () => {
    let fault: Error | undefined = Object.assign(new Error('no space is left'), { code: 'ENOSPC' })
    const { audit, lines } = inFile((file, bytes) => {
      if (fault) throw fault
      return writeSync(file, bytes)
    })
    const told = await Promise.allSettled([1, 2].map(number => audit.write({ number })))
    for (const one of told)
      expect(one).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'busy',
          retryAfter: 5,
          message: expect.stringMatching(/^the audit log .*\(ENOSPC\)$/),
          cause: fault,
        },
      })
    fault = undefined
    const [one, other] = [audit.write({ number: 1n }), audit.write({ number: 2 })]
    await expect(one).rejects.toThrow('BigInt')
    await other
    expect(lines()).toEqual(['{"number":2}', ''])
  })
})
