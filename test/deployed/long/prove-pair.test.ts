import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createLocalAuthority } from '../../../infra/local/gateway/tls.ts'
import { PAIR_REGIONS } from '../../../infra/local/pair/pair.ts'
import { emulatorAdaptationNames } from '../adaptations.ts'
import { type Emulator, startEmulator } from '../emulator.ts'
import { startTlsFront, type TlsFront } from '../front.ts'
import { ProvedAccount, writeAdaptedRelease } from '../proved-account.ts'

// Runs `cloud-auth prove --peer-region` with an emulator for each region. The clusters call each other by TLS fronts of
// the test, because clusters call each other by https only.

const authority = createLocalAuthority('authority')
const started: Emulator[] = []
const fronts: { name: string; front: TlsFront }[] = []
let proved: ProvedAccount

beforeAll(async () => {
  const release = await writeAdaptedRelease()
  for (const [name, region] of Object.entries(PAIR_REGIONS)) {
    // clusters refuse addresses of this machine
    const place = { region, host: 'emulated.test' }
    started.push(await startEmulator(emulatorAdaptationNames, place))
    fronts.push({ name, front: await startTlsFront(authority.issue(name, [`${name}.test`])) })
  }
  const [east, west] = started as [Emulator, Emulator]
  for (const [name, value] of Object.entries(east.variables))
    if (/^AWS_(?!ENDPOINT_URL|REGION)/.test(name)) vi.stubEnv(name, value)
  const linkTo = (api: string): string => {
    const found = fronts[started.findIndex(({ url }) => api.startsWith(url))]
    found?.front.forwardTo(api)
    return `https://${found?.name}.test:${found?.front.port}`
  }
  proved = new ProvedAccount(east, release, { emulator: west, authority: authority.cert, linkTo })
})
afterAll(async () => {
  vi.unstubAllEnvs()
  for (const { front } of fronts) await front.close()
  for (const emulator of started) await emulator.stop()
  proved?.remove()
})

/** Returns the result and the note of a claim in the report. */
function rowOf(id: string): string {
  const rows = JSON.parse(proved.printed).rows as { id: string; result: string; note: string }[]
  const row = rows.find(one => one.id === id)
  return `${row?.result}: ${row?.note}`
}

test('a run in two regions joins and switches, and leaves only the keys', async () => {
  await proved.start()
  const { stopped, measured, remains } = JSON.parse(proved.printed)
  expect(stopped, proved.said.join('\n')).toBeUndefined()
  expect(rowOf('link')).toMatch(/^held: .* both have the same Merkle root$/)
  // after the switch; the emulators are two accounts, so west does not know the role of the function that logs in
  expect(rowOf('switch')).toBe('broken: not all logins to the cluster in us-west-2 got a token')
  expect(measured).toHaveProperty('join until the secondary follows')
  expect(remains).toEqual(
    Array.from({ length: 2 }, () => expect.objectContaining({ what: expect.stringMatching(/^KMS key/) })),
  )
  await proved.expectEmpty()
})
