import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { root } from '../build/functions.ts'
import { readSettings } from '../settings.ts'

/** What differs from a deployment: names, and what protects data against mistakes. */
export interface LocalSettings {
  legacySignatures: boolean
}

const settingsOf = ({ legacySignatures }: LocalSettings) =>
  readSettings({
    stage: 'local',
    deletionProtection: false,
    legacySignatures,
    assumableRoleArns: ['arn:*:iam::*:role/*'],
  })

const INPUTS = ['infra', 'shared', 'functions']
const FILES = ['package-lock.json', 'cdk.json', 'package.json']

/** Fingerprint of everything that the templates and bundles are made from. */
function fingerprint(settings: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(settings)).update(process.version)
  const files = INPUTS.flatMap(folder =>
    readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !entry.parentPath.includes('infra/local'))
      .map(entry => `${entry.parentPath}/${entry.name}`),
  )
  for (const file of [...files.sort(), ...FILES.map(name => `${root}${name}`)]) {
    hash.update(file).update(readFileSync(file))
  }
  return hash.digest('hex')
}

/**
 * Bundles the functions and synthesises the stacks, unless that was done already from the same sources.
 * @returns the directory of the assembly
 */
export async function synthesise(local: LocalSettings): Promise<string> {
  const settings = settingsOf(local)
  const wanted = fingerprint(settings)
  const directory = `${root}.build/local${local.legacySignatures ? '-legacy' : ''}`
  const stamp = `${directory}/fingerprint`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return directory
  // loaded only now: the CDK alone takes longer to start than everything else
  const [{ buildFunctions }, { defineStacks, newApp }] = await Promise.all([
    import('../build/functions.ts'),
    import('../app.ts'),
  ])
  rmSync(directory, { recursive: true, force: true })
  await buildFunctions(`${directory}/functions`)
  const app = newApp(directory)
  defineStacks(app, settings, `${directory}/functions`)
  app.synth()
  writeFileSync(stamp, wanted)
  return directory
}
