import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { CreateAccessKeyCommand } from '@aws-sdk/client-iam'
import { DecryptCommand, GenerateDataKeyCommand } from '@aws-sdk/client-kms'
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createRemoteControl } from '../../infra/local/provider/control.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { startProvider } from '../../infra/local/provider/provider.ts'
import { account, clientsOf, region } from './clients.ts'

async function stateFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'provider-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return join(folder, 'made', 'state.json')
}

const whoAmI = () => new GetCallerIdentityCommand()

describe('with a state file', () => {
  test('principals, keys, sessions, instances, denials and the authority survive a restart', async () => {
    const file = await stateFile()
    const first = await startProvider({ stateFile: file })
    const user = await first.control.putUser({ account, name: 'bob', path: '/a/' })
    const key = await first.control.createAccessKey({ account, user: 'bob' })
    await first.control.putRole({ account, name: 'app' })
    const session = await first.control.session({ account, role: 'app', session: 'one' })
    const tags = { $map: 'not one', Name: 'web' }
    const instance = await first.control.putInstance({ account, region, tags })
    await first.control.deny({ principalArn: user.arn, action: 'iam:CreateAccessKey' })
    const authority = await first.control.authority()
    await first.close()

    const second = await startProvider({ stateFile: file })
    onTestFinished(() => second.close())
    await expect(clientsOf(second.url, key).sts.send(whoAmI())).resolves.toMatchObject({
      Arn: user.arn,
      UserId: user.userId,
    })
    await expect(clientsOf(second.url, session).sts.send(whoAmI())).resolves.toMatchObject({
      Arn: session.arn,
    })
    expect(await second.control.listInstances({ account, region })).toEqual([instance])
    expect(await second.control.authority()).toEqual(authority)
    await expect(clientsOf(second.url, key).iam.send(new CreateAccessKeyCommand({}))).rejects.toMatchObject({
      name: 'AccessDenied',
    })
  })

  test('KMS keys survive a restart, but calls, faults and limits do not', async () => {
    const file = await stateFile()
    const first = await startProvider({ stateFile: file })
    await first.control.putUser({ account, name: 'bob' })
    const key = await first.control.createAccessKey({ account, user: 'bob' })
    const { kms } = clientsOf(first.url, key)
    const KeyId = `arn:aws:kms:${region}:${account}:key/one`
    const { CiphertextBlob, Plaintext } = await kms.send(
      new GenerateDataKeyCommand({ KeyId, KeySpec: 'AES_256' }),
    )
    await first.control.fault({ kind: 'error', times: 99 })
    await first.control.limit({ service: 'kms', action: 'Decrypt', perSecond: 0, burst: 0 })
    await first.close()

    const second = await startProvider({ stateFile: file })
    onTestFinished(() => second.close())
    expect((await second.control.calls()).calls).toEqual([])
    const again = clientsOf(second.url, key).kms
    await expect(again.send(new DecryptCommand({ CiphertextBlob }))).resolves.toMatchObject({
      KeyId,
      Plaintext,
    })
  })

  test('a change is in the file before its answer, and the file is always complete', async () => {
    const file = await stateFile()
    const { control, close } = await startProvider({ stateFile: file })
    onTestFinished(close)
    await control.putUser({ account, name: 'bob' })
    expect(await readFile(file, 'utf8')).toContain('user/bob')
    const many = Array.from({ length: 200 }, () => control.putInstance({ account, region }))
    const reads = Array.from({ length: 20 }, async () => JSON.parse(await readFile(file, 'utf8')))
    await expect(Promise.all(reads)).resolves.toHaveLength(20)
    const instances = await Promise.all(many)
    const saved = await readFile(file, 'utf8')
    expect(instances.every(({ instanceId }) => saved.includes(instanceId))).toBe(true)
    expect(await readdir(dirname(file))).toEqual(['state.json'])
    const [gone] = instances
    await control.deleteInstance({ account, region, instanceId: gone?.instanceId ?? '' })
    expect(await readFile(file, 'utf8')).not.toContain(gone?.instanceId)
  })

  test('a key made through IAM is in the file before its answer', async () => {
    const file = await stateFile()
    const { control, close, url } = await startProvider({ stateFile: file })
    onTestFinished(close)
    await control.putUser({ account, name: 'bob' })
    const key = await control.createAccessKey({ account, user: 'bob' })
    const { AccessKey } = await clientsOf(url, key).iam.send(new CreateAccessKeyCommand({}))
    expect(await readFile(file, 'utf8')).toContain(AccessKey?.AccessKeyId ?? 'nothing')
  })

  test('the authority is in the file before the first document is sent', async () => {
    const file = await stateFile()
    const { control, close } = await startProvider({ stateFile: file })
    onTestFinished(close)
    const { instanceId } = await control.putInstance({ account, region })
    const { url } = await control.metadataPort({ account, region, instanceId })
    const base = `${url}/latest`
    const headers = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' }
    const token = await (await fetch(`${base}/api/token`, { method: 'PUT', headers })).text()
    const item = await fetch(`${base}/dynamic/instance-identity/rsa2048`, {
      headers: { 'x-aws-ec2-metadata-token': token },
    })
    const saved = await readFile(file, 'utf8')
    expect([item.status, saved.includes('BEGIN CERTIFICATE')]).toEqual([200, true])
  })

  test('the provider does not start when the file cannot be read', async () => {
    const file = await stateFile()
    await mkdir(dirname(file))
    await writeFile(file, '{')
    await expect(startProvider({ stateFile: file })).rejects.toThrow(SyntaxError)
  })
})

test('without a state file every start has an empty state', async () => {
  const [one, two] = [await startProvider(), await startProvider()]
  onTestFinished(async () => void (await Promise.all([one.close(), two.close()])))
  await one.control.putUser({ account, name: 'bob' })
  const key = await one.control.createAccessKey({ account, user: 'bob' })
  await expect(clientsOf(two.url, key).sts.send(whoAmI())).rejects.toMatchObject({
    name: 'InvalidClientTokenId',
  })
})

test('the provider does not start on a port in use', async () => {
  const { url, close } = await startProvider()
  onTestFinished(close)
  await expect(startProvider({ port: Number(new URL(url).port) })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  })
})

describe('the provider as a process', () => {
  const main = fileURLToPath(new URL('../../infra/local/provider/main.ts', import.meta.url))

  async function startProcess(...args: string[]): Promise<ReachedProvider & { child: ChildProcess }> {
    const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = await once(createInterface(child.stdout), 'line')
    return { child, ...(JSON.parse(line) as ReachedProvider) }
  }

  async function stop(child: ChildProcess): Promise<number | null> {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    return (await exited)[0]
  }

  test('prints its URL, is controlled over HTTP, exits cleanly and keeps its state', async () => {
    const file = await stateFile()
    const first = await startProcess('--state', file)
    const control = createRemoteControl(first.url, first.control_token)
    await control.putUser({ account, name: 'bob' })
    const key = await control.createAccessKey({ account, user: 'bob' })
    await expect(clientsOf(first.url, key).sts.send(whoAmI())).resolves.toMatchObject({ Account: account })
    expect(await stop(first.child)).toBe(0)

    const port = new URL(first.url).port
    const second = await startProcess('--state', file, '--port', port)
    expect(second.url).toBe(first.url)
    await expect(clientsOf(second.url, key).sts.send(whoAmI())).resolves.toMatchObject({ Account: account })
    expect(await stop(second.child)).toBe(0)
  })
})
