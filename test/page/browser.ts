import { accessSync, constants, mkdirSync } from 'node:fs'
import { delimiter } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { root } from '../../infra/checkout.ts'

/** What it is called by Debian, and by others. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** @throws Error where this machine has no browser: the page is tested in a real one or not at all */
function browserProgram(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = folders.flatMap(folder => NAMES.map(name => `${folder}/${name}`)).find(isProgram)
  if (found) return found
  throw new Error('THE PAGE HAS BEEN TESTED IN NO BROWSER: there is none on this machine; install chromium')
}

/** Where screenshots go. */
const SHOTS = `${root}.build/screenshots`

export const openBrowser = (): Promise<Browser> => {
  mkdirSync(SHOTS, { recursive: true })
  // nothing foreign is opened, and containers have no namespaces to put it in
  return chromium.launch({ executablePath: browserProgram(), args: ['--no-sandbox'] })
}

/** A page that is open, and what went wrong in it. */
export interface Opened {
  page: Page
  context: BrowserContext
  /** what the browser has refused or what was thrown in the page */
  faults: string[]
}

/** Opens a page, and notes what the browser complains of; a status that is no success is no complaint. */
export async function opened(browser: Browser, address: string, options = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', error => faults.push(String(error)))
  page.on('dialog', dialog => faults.push(`dialog: ${dialog.message()}`))
  page.on('console', message => {
    const text = message.text()
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) faults.push(text)
  })
  await page.goto(address)
  return { page, context, faults }
}

const shot = (page: Page, name: string): Promise<Buffer> =>
  page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true })

/** Light, dark, and as wide as a phone. */
export async function shots(page: Page, name: string): Promise<void> {
  await shot(page, `${name}-light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await shot(page, `${name}-dark`)
  await page.setViewportSize({ width: 375, height: 812 })
  await shot(page, `${name}-phone`)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1200, height: 900 })
}
