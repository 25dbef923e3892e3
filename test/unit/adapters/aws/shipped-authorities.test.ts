import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { readEnvironment } from '../../../../shared/adapters/aws/environment.ts'
import { readShippedAuthorities } from '../../../../shared/adapters/aws/shipped-authorities.ts'

const code = mkdtempSync(`${tmpdir()}/cloud-auth-code-`)
afterAll(() => rmSync(code, { recursive: true, force: true }))
const fileFor = (name?: string) =>
  readEnvironment({
    AWS_REGION: 'r',
    DATA_TABLE: 'd',
    CLUSTER_TABLE: 'c',
    LAMBDA_TASK_ROOT: code,
    ...(name === undefined ? {} : { AUTHORITIES: name }),
  }).authoritiesFile

test('certificates next to the code are read once, and again after a failure', async () => {
  const authorities = readShippedAuthorities(fileFor('authorities.json'))
  await expect(authorities.shipped()).rejects.toThrow('ENOENT')
  writeFileSync(`${code}/authorities.json`, '{"own.pem":"PEM"}')
  expect(await authorities.shipped()).toEqual(new Map([['own.pem', 'PEM']]))
  rmSync(`${code}/authorities.json`)
  expect(await authorities.shipped()).toEqual(new Map([['own.pem', 'PEM']]))
})

test('a deployment without certificate files returns no certificates', async () => {
  expect(fileFor()).toBe('')
  expect(await readShippedAuthorities(fileFor()).shipped()).toEqual(new Map())
})
