import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { checkoutRoot } from '../../../../infra/checkout.ts'
import { LINK_FORMAT } from '../../../../shared/link/source.ts'
import { blocksOf } from '../../../support/programs/pages.ts'
import { openShell } from '../../../support/programs/shell.ts'
import { webServer } from '../../../support/service/server.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import { versionOf } from '../../../support/set/versions.ts'

// Tests clusters of two versions, of which the later writes data that the earlier cannot read. Both versions
// run this code with a different format number. test/vectors/formats contains messages of real earlier
// formats.

const R = '/sys/replication/dr'
const NAMES = ['east', 'west']
const UPGRADE_SECONDARY = `this cluster uses link format ${LINK_FORMAT + 1}, but the secondary supports at most ${LINK_FORMAT}; upgrade the secondary first; the secondary keeps its data`

let later: Awaited<ReturnType<typeof versionOf>>
beforeAll(async () => {
  later = await versionOf(LINK_FORMAT + 1)
})

let set: ClusterSet
let upgraded: Set<string>
const { write, promote, health, giveToken, policies } = promotions({
  at: (name: string) => set.at(name),
} as ClusterSet)

/** Deploys the later version on the stored tables. */
async function upgrade(name: string): Promise<void> {
  upgraded.add(name)
  await set.settled()
  set = await clusterSet(NAMES, { memory: true, from: await set.snapshot(), madeBy })
}
const madeBy = (name: string) => (upgraded.has(name) ? later : undefined)

beforeEach(async () => {
  upgraded = new Set()
  set = await clusterSet(NAMES, { memory: true })
  await set.enable('east')
})

const joined = async () => {
  await set.join('west', 'east')
  await follows('west', 'east', 'before')
  await giveToken('west')
}

/** Checks that one cluster receives what the other cluster writes. */
async function follows(name: string, primary: string, policy: string): Promise<void> {
  expect((await write(primary, policy)).status).toBe(204)
  await set.converge(name)
  expect((await set.everything(name)).items).toEqual((await set.everything(primary)).items)
}

const statusOf = async (name: string) =>
  (await set.at(name).ok('GET', `${R}/status`, undefined, { token: '' })).body.data

/** Makes one cluster follow another cluster with a new activation token. */
async function update(name: string, primary: string) {
  await set.at(primary).ok('POST', `${R}/primary/revoke-secondary`, { id: name })
  const { body } = await set.at(primary).ok('POST', `${R}/primary/secondary-token`, { id: name })
  return set.at(name).request('POST', `${R}/secondary/update-primary`, {
    dr_operation_token: OPERATION_TOKEN,
    token: body.wrap_info.token,
  })
}

/** The text of an `npx` that only handles `cdk deploy --all -c settings=…`, by calling the test's server. */
const npxAt = (url: string): string => `
const given = process.argv.slice(2).join(' ')
const [, settings] = /^cdk deploy --all -c settings=({.*})$/.exec(given) ?? []
if (!settings) throw new Error('not as deploy.md has it: ' + given)
const answer = await fetch('${url}/deploy/' + JSON.parse(settings).clusterName)
process.stderr.write(await answer.text())
process.exitCode = answer.ok ? 0 : 1
`

describe('an upgrade in the right order', () => {
  test('begins with the secondary, as the runbook says: the secondary follows and the primary serves all the time', async () => {
    await joined()
    const deployed = async (name: string) => {
      await upgrade(name)
      expect([await health('east'), await health('west')]).toEqual([200, 472])
      await follows('west', 'east', `${name}-upgraded`)
    }
    // /east/v1/…, /west/v1/…: the clusters; /deploy/east: what `npx cdk deploy` does
    const ask = (method: string, asked: string): Promise<{ status: number; text: string }> => {
      const [, name = '', path = ''] = /^\/(\w+)(?:\/v1)?(\/.*)$/.exec(asked) ?? []
      if (name !== 'deploy') return set.at(name).request(method, path, undefined, { token: '' })
      const done = () => ({ status: 200, text: '' })
      return deployed(path.slice(1)).then(done, error => ({ status: 500, text: String(error) }))
    }
    const { url } = await webServer(onTestFinished, ({ method = '', url: asked = '' }, response) => {
      void ask(method, asked).then(({ status, text }) => response.writeHead(status).end(text))
    })
    const shell = openShell({
      cwd: checkoutRoot,
      variables: {
        EAST: `${url}/east/v1`,
        WEST: `${url}/west/v1`,
        EAST_SETTINGS: '{"clusterName":"east"}',
        WEST_SETTINGS: '{"clusterName":"west"}',
      },
      programs: { npx: npxAt(url) },
    })
    onTestFinished(shell.close)
    for (const block of blocksOf('README', 'The shell')) await shell.paste(block)
    for (const block of blocksOf('upgrade')) await shell.paste(block)
    expect([...upgraded]).toEqual(['west', 'east'])
  })

  test('with a switch in between warns; the older cluster is refused, keeps its items, and follows after its upgrade', async () => {
    await joined()
    await upgrade('west')
    await follows('west', 'east', 'by the older primary')
    const reply = await promote('west')
    expect([reply.status, reply.body.warnings]).toEqual([
      200,
      expect.arrayContaining([
        `the primary speaks format ${LINK_FORMAT}, this cluster ${LINK_FORMAT + 1}: the primary cannot return as a secondary before its upgrade`,
      ]),
    ])
    await giveToken('east')
    expect((await write('west', 'by the later primary')).status).toBe(204)
    const before = await set.everything('east')
    const refused = await update('east', 'west')
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [expect.stringContaining(`${UPGRADE_SECONDARY}; nothing has changed on this cluster`)],
    ])
    expect(await set.everything('east')).toEqual(before)
    await upgrade('east')
    expect((await update('east', 'west')).status).toBe(200)
    await follows('east', 'west', 'after')
    expect(await policies('west')).toEqual(
      expect.arrayContaining(['before', 'by the older primary', 'by the later primary', 'after']),
    )
    const back = await promote('east')
    expect([back.status, String(back.body.warnings)]).toEqual([200, expect.not.stringContaining('format')])
  })

  test('a newer cluster becomes the secondary of an older primary', async () => {
    await upgrade('west')
    await set.join('west', 'east')
    await follows('west', 'east', 'before')
  })
})

describe('a primary that is upgraded first', () => {
  beforeEach(async () => {
    await joined()
    await upgrade('east')
  })

  test('serves; the older secondary is idle, keeps its items, says what to do, and continues after its upgrade', async () => {
    const before = await set.everything('west')
    const { incarnation } = await set.at('west').head()
    expect((await write('east', 'not read yet')).status).toBe(204)
    for (let minutes = 0; minutes < 3; minutes++) {
      await set.tick()
      set.pass(60_000)
    }
    await set.settled()
    expect(await set.everything('west')).toEqual(before)
    expect(await statusOf('west')).toMatchObject({ mode: 'secondary', state: 'idle' })
    expect(JSON.stringify(set.at('west').told)).toContain(UPGRADE_SECONDARY)
    const promoted = await promote('west')
    expect([promoted.status, promoted.text]).toEqual([503, expect.stringContaining(UPGRADE_SECONDARY)])

    await upgrade('west')
    await set.converge('west')
    expect((await set.everything('west')).items).toEqual((await set.everything('east')).items)
    expect((await set.at('west').head()).incarnation, 'nothing was fetched anew').toBe(incarnation)
  })

  test('is replaced by the older secondary by force, closes, and follows the new primary', async () => {
    const reply = await promote('west', { force: true })
    expect([reply.status, await health('west')]).toEqual([200, 200])
    for (let minutes = 0; minutes < 3; minutes++) {
      set.pass(60_000)
      await set.tick()
    }
    await set.settled()
    expect(await health('east')).toBe(472)
    await giveToken('east')
    expect((await update('east', 'west')).status).toBe(200)
    await follows('east', 'west', 'by the older one')
  })

  test('refuses to admit an older cluster, which keeps its items', async () => {
    set = await clusterSet(NAMES, { memory: true, madeBy })
    await set.enable('east')
    expect((await write('west', 'of west')).status).toBe(204)
    const { body } = await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id: 'west' })
    const { status, text } = await set
      .at('west')
      .request('POST', `${R}/secondary/enable`, { token: body.wrap_info.token })
    expect([status, text]).toEqual([400, expect.stringContaining(UPGRADE_SECONDARY)])
    expect(await health('west')).toBe(200)
    expect(await policies('west')).toContain('of west')
  })
})
