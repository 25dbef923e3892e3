import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalHost, startLocalHost } from '../../infra/local/host/host.ts'
import { openBrowser, opened, shots } from './browser.ts'
import { playSituation, situations } from './situations.ts'

let browser: Browser
let host: LocalHost
beforeAll(async () => {
  browser = await openBrowser()
  host = await startLocalHost({ cluster: 'situations', port: 0, memory: true, unlisted: true })
})
afterAll(async () => {
  await browser?.close()
  await host?.close()
})

/** The tone and the headline of each situation. */
const headlines: Readonly<Record<keyof typeof situations, readonly [tone: string, headline: RegExp]>> = {
  healthy: ['good', /^“east.*” serves, and “west.*” is its secondary\.$/],
  switching: ['busy', /^“west.*” is taking over from “east.*”\. This needs no action/],
  finishing: ['busy', /^“west.*”: The operation promotion is running, at the step open/],
  after: ['bad', /^“west.*” serves; “east.*” does not follow it yet/],
  following: ['busy', /^“west.*” serves, and “east.*” is about to follow it/],
  dead: ['bad', /^Only “west.*” answers here, and it does not serve\. Its primary last answered it at/],
  revoked: ['bad', /^“east.*” serves and does not know “west/],
  disaster: ['bad', /^“west.*” serves\. The other cluster does not answer/],
  report: ['bad', /^“west.*” serves; “east.*” does not follow it yet/],
  'kms-off': ['bad', /^“east.*”: KMS cannot unwrap its keyring/],
  single: ['good', /^“east.*”: The cluster serves clients, and no other cluster has its data/],
}
const ORDER = ['good', 'unknown', 'busy', 'bad']

test.each(Object.entries(situations))(
  'the headline is right with hostile names: %s',
  async (name, situation) => {
    const { page, context, faults } = await opened(browser, 'about:blank')
    await playSituation(context, situation)
    await page.goto(new URL('/ui/', host.base_url).href)
    const [tone, headline] = headlines[name as keyof typeof situations]
    await page.waitForSelector(`#verdict.${tone}`)
    await page.waitForFunction(
      pattern =>
        new RegExp(pattern, 'u').test(document.getElementById('verdict-sentence')?.textContent ?? ''),
      headline.source,
    )
    expect(await page.textContent('#task')).toMatch(/\.$/)
    const tones = await page.$$eval('article:not([hidden])', all => all.map(({ className }) => className))
    const worst = Math.max(...tones.map(one => ORDER.indexOf(one)))
    expect(worst).toBeLessThanOrEqual(ORDER.indexOf(tone))
    expect(await page.$$eval('main img, main script, [onerror]', all => all.length)).toBe(0)
    expect(faults).toEqual([])
    await shots(page, `situation-${name}`)
    await context.close()
  },
)
