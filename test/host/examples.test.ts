import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { root } from '../../infra/checkout.ts'
import { demonstrate } from '../../infra/local/demonstration.ts'
import { HOME } from '../../infra/local/home.ts'
import { call, type Reply } from '../support/api.ts'
import { aws, cluster, whileBusy } from '../support/cluster.ts'

// What the documents show is done here as it stands there.

const run = promisify(execFile)
let environment: Record<string, string>
beforeAll(async () => {
  await demonstrate({ ...cluster, control: aws }, () => ({}))
  const instance = await aws.putInstance({ ...HOME })
  environment = {
    BASE: cluster.base_url,
    TOKEN: cluster.root_token,
    METADATA: `${cluster.provider_url}/imds/${HOME.account}/${HOME.region}/${instance.instanceId}`,
  }
})

const example = async (name: string, more: Record<string, string>): Promise<string> => {
  const { stdout } = await run(process.execPath, [`${root}docs/examples/${name}`], {
    env: { ...environment, ...more },
  })
  return stdout
}

describe('docs/examples', () => {
  test('ec2-login.mjs logs in, and again with its nonce', async () => {
    for (const _ of ['first', 'again']) {
      const shown = JSON.parse(
        await example('ec2-login.mjs', { ROLE: 'demo-ec2', NONCE: 'kept-by-the-instance' }),
      )
      expect(shown).toMatchObject({
        policies: ['default', 'demo'],
        lease_duration: 1800,
        metadata: { auth_type: 'ec2' },
      })
    }
  })

  test('iam-login.mjs logs in', async () => {
    const { accessKeyId, secretAccessKey, sessionToken } = await aws.session({
      account: HOME.account,
      role: 'web-server',
      session: 'shell',
    })
    const keys = {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: sessionToken,
    }
    const shown = JSON.parse(await example('iam-login.mjs', { ROLE: 'demo-iam', ...keys }))
    expect(shown).toMatchObject({
      policies: ['default', 'demo'],
      lease_duration: 3600,
      metadata: { auth_type: 'iam' },
    })
  })

  test('explain.mjs tells each check', async () => {
    const shown = await example('explain.mjs', { ROLE: 'demo-ec2' })
    expect(shown).toMatch(/^pass +running {2}saw "running"/m)
    expect(shown).toMatch(/^pass +bound_account_id {2}saw "111122223333"/m)
    expect(shown).toMatch(/^fail +reauthentication .*nonce does not match/m)
    expect(shown).toMatch(/^would succeed: false/)
  })
})

/** Words of a shell command, with variables put in. Only what the documents use. */
function words(command: string): string[] {
  const parts = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  )
  return parts.map(part => part.replace(/\$(\w+)/g, (_, name: string) => environment[name] ?? ''))
}

function curl(command: string): Promise<Reply> {
  const [, ...rest] = words(command)
  const headers: Record<string, string> = {}
  let [url, body] = ['', undefined as string | undefined]
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    if (next === '-H') {
      const [name = '', value = ''] = (rest.shift() ?? '').split(': ')
      headers[name] = value
    } else if (next === '-d') body = rest.shift()
    else url = next
  }
  return call(url, body === undefined ? 'GET' : 'POST', '', body, { headers })
}

describe('README', () => {
  const readme = readFileSync(`${root}README.md`, 'utf8')

  test('its curl lines do what they show', async () => {
    const block = /```sh\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
    const commands = block.split(/\n(?=curl )/).map(text => text.trim())
    expect(commands).toHaveLength(4)
    const replies = []
    for (const command of commands) replies.push(await whileBusy(() => curl(command)))
    expect(replies.map(reply => reply.status)).toEqual([204, 200, 200, 200])
    expect(replies[1]?.body.data).toMatchObject({ token_policies: ['reader'], token_ttl: 3600 })
    expect(replies[2]?.body.data.keys).toContain('worker')
  })

  test('every path of "Where is the room of my change?" is there', () => {
    const table = readme.slice(readme.indexOf('## Where is the room'), readme.indexOf('## Commands'))
    const rows = table
      .split('\n')
      .filter(line => line.startsWith('|'))
      .slice(2)
    expect(rows.length).toBeGreaterThan(15)
    for (const row of rows) {
      const paths = [...row.matchAll(/`([\w./-]+)`/g)]
        .map(([, path = '']) => path)
        .filter(path => path.includes('/'))
      expect(paths.length, row).toBeGreaterThan(0)
      for (const path of paths) expect(existsSync(root + path), path).toBe(true)
    }
  })

  test('every command of its table, and every document it names, is there', () => {
    const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = [...readme.matchAll(/`npm (?:run )?([\w:]+)`/g)].map(([, name = '']) => name)
    expect(named.filter(name => !(name in scripts))).toEqual([])
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => target)
    expect(links.filter(target => !existsSync(root + target))).toEqual([])
  })
})
