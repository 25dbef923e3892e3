import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import type { Metafile } from 'esbuild'
import { unzipSync } from 'fflate'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkoutRoot, version } from '../../infra/checkout.ts'
import { buildBundlesOfSources } from '../../infra/local/template/synth.ts'
import { buildPackage } from '../../infra/package/build.ts'
import { readEntries } from '../../infra/release/archives.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-release-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const first = `${folder}/a`
const second = `${folder}/a-folder-with-a-much-longer-name/and/below-it/cloud-auth`
const base = `cloud-auth-${version}`

const gitIn = (where: string, ...words: string[]): string =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...words], {
    cwd: where,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()

/** Copies the installed packages as hard links, which take a second instead of a minute. */
function linkPackages(where: string): void {
  const links = spawnSync('cp', ['-al', `${checkoutRoot}node_modules`, `${where}/node_modules`])
  if (links.status !== 0) cpSync(`${checkoutRoot}node_modules`, `${where}/node_modules`, { recursive: true })
}

const noteGreen = (where: string): void => {
  mkdirSync(`${where}/.build`, { recursive: true })
  writeFileSync(`${where}/.build/ci-green`, gitIn(where, 'rev-parse', 'HEAD^{tree}'))
}

interface Surroundings {
  umask: string
  zone: string
  lang: string
  more?: Record<string, string>
}

/** Runs the release with the environment of another user. */
function release(where: string, { umask, zone, lang, more }: Surroundings, ...options: string[]) {
  const home = mkdtempSync(`${folder}/home-`)
  const words = [process.execPath, 'infra/release/main.ts', ...options]
  return spawnSync('sh', ['-c', `umask ${umask}; exec "$@"`, 'sh', ...words], {
    cwd: where,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: home, USER: home, TZ: zone, LANG: lang, LC_ALL: lang, ...more },
  })
}

const plain: Surroundings = { umask: '022', zone: 'UTC', lang: 'C' }
const other: Surroundings = {
  umask: '077',
  zone: 'Pacific/Kiritimati',
  lang: 'tr_TR.UTF-8',
  more: { CDK_CONTEXT_JSON: '{"@aws-cdk/aws-iam:minimizePolicies":false}' },
}

const artefact = (name: string, where = first): Buffer => readFileSync(`${where}/.build/release/${name}`)
const jsonOf = <T>(name: string): T => JSON.parse(artefact(name).toString()) as T

/** Makes the release in two clones. The second clone has results of other builds. */
beforeAll(() => {
  mkdirSync(first)
  cpSync(checkoutRoot, first, {
    recursive: true,
    filter: path =>
      !/^(node_modules|\.build|\.local|\.git|\.vitest)(\/|$)/.test(path.slice(checkoutRoot.length)),
  })
  gitIn(first, 'init', '--quiet')
  gitIn(first, 'add', '--all')
  gitIn(first, 'commit', '--quiet', '--message', 'sources')
  mkdirSync(second, { recursive: true })
  gitIn(folder, 'clone', '--quiet', first, second)
  for (const where of [first, second]) {
    linkPackages(where)
    noteGreen(where)
  }
  for (const stale of [
    'release/old.tgz',
    'release-work/package/lib/old.js',
    'functions/old/index.mjs',
    'package/old',
  ]) {
    mkdirSync(dirname(`${second}/.build/${stale}`), { recursive: true })
    writeFileSync(`${second}/.build/${stale}`, 'old')
  }
  expect(release(first, plain, '--dry-run')).toMatchObject({ status: 0 })
  expect(release(second, other, '--dry-run')).toMatchObject({ status: 0 })
})

describe('npm run release -- --dry-run', () => {
  test('makes five artefacts and their checksums', () => {
    expect(readdirSync(`${first}/.build/release`).sort()).toEqual(
      [
        'SHA256SUMS',
        'cloud-auth.mjs',
        `${base}-templates.tgz`,
        `${base}.cdx.json`,
        `${base}.provenance.json`,
        `${base}.tgz`,
      ].sort(),
    )
  })

  test('makes equal files in another folder, with another umask, time zone, language and home', () => {
    const sums = artefact('SHA256SUMS').toString()
    expect(artefact('SHA256SUMS', second).toString()).toBe(sums)
    const checked = execFileSync('sha256sum', ['--check', '--strict', `${first}/.build/release/SHA256SUMS`], {
      cwd: `${second}/.build/release`,
      encoding: 'utf8',
    })
    expect(checked.trim().split('\n')).toEqual(
      sums
        .trim()
        .split('\n')
        .map(line => `${line.split('  ')[1]}: OK`),
    )
    expect(readdirSync(`${second}/.build/release`)).toEqual(readdirSync(`${first}/.build/release`))
  })

  test('leaves no path of the machine in a file, nor in a file of an archive', () => {
    const where = `${folder}/contents`
    mkdirSync(where)
    for (const name of [`${base}.tgz`, `${base}-templates.tgz`])
      execFileSync('tar', ['-xzf', `${first}/.build/release/${name}`, '-C', where])
    const contents = [...readEntries(where), ...readEntries(`${first}/.build/release`)].flatMap(one =>
      one.name.endsWith('.zip')
        ? Object.entries(unzipSync(one.bytes)).map(([name, bytes]) => ({ name, bytes }))
        : [one],
    )
    expect(contents.length).toBeGreaterThan(1000)
    const naming = contents.filter(({ bytes }) =>
      [folder, checkoutRoot].some(text => Buffer.from(bytes).includes(text)),
    )
    expect(naming.map(one => one.name)).toEqual([])
  })

  test('packs the files that npm packs', () => {
    const where = `${folder}/unpacked`
    mkdirSync(where)
    execFileSync('tar', ['-xzf', `${first}/.build/release/${base}.tgz`, '-C', where])
    const packed = JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--offline'], {
        cwd: `${where}/package`,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as [{ files: { path: string; mode: number }[] }]
    const files = readdirSync(`${where}/package`, { recursive: true, withFileTypes: true })
      .filter(one => one.isFile())
      .map(one => `${one.parentPath}/${one.name}`.slice(`${where}/package/`.length))
    expect(packed[0].files.map(one => one.path).sort()).toEqual(files.sort())
    expect(packed[0].files.filter(one => one.mode === 0o755).map(one => one.path)).toEqual([
      'bin/cloud-auth.mjs',
    ])
  })

  test('states the hashes of the artefacts, the commit and Node, and no time', () => {
    const { subject, predicate, ...statement } = jsonOf<{
      subject: { name: string; digest: { sha256: string } }[]
      predicate: { buildDefinition: { resolvedDependencies: object[]; internalParameters: object } }
    }>(`${base}.provenance.json`)
    expect(statement).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      predicateType: 'https://slsa.dev/provenance/v1',
    })
    expect(subject.map(one => one.name)).toEqual([
      `${base}.tgz`,
      `${base}-templates.tgz`,
      'cloud-auth.mjs',
      `${base}.cdx.json`,
    ])
    for (const { name, digest } of subject)
      expect(digest.sha256, name).toBe(createHash('sha256').update(artefact(name)).digest('hex'))
    expect(predicate.buildDefinition).toMatchObject({
      internalParameters: { node: process.versions.node },
      resolvedDependencies: [
        { digest: { gitCommit: gitIn(first, 'rev-parse', 'HEAD') } },
        { name: 'package-lock.json' },
      ],
    })
    expect(artefact(`${base}.provenance.json`).toString()).not.toMatch(
      /\d{4}-\d\d-\d\dT|startedOn|finishedOn/,
    )
  })

  test('lists in the SBOM exactly the packages of which a byte is in a bundle, and copied packages', async () => {
    const bundles = await buildBundlesOfSources()
    const files = readdirSync(bundles, { recursive: true, encoding: 'utf8' })
    // source maps name the sources of the functions; the page, the command and the construct have no source maps
    const ofFunctions = files
      .filter(name => name.endsWith('.mjs.map'))
      .flatMap(
        name => (JSON.parse(readFileSync(`${bundles}/${name}`, 'utf8')) as { sources: string[] }).sources,
      )
    const { 'fallback/ui': page } = JSON.parse(readFileSync(`${bundles}/metafiles.json`, 'utf8')) as Record<
      string,
      Metafile
    >
    const others = [page, ...(await buildPackage(bundles, `${folder}/package`))]
      .flatMap(one => Object.values(one?.outputs ?? {}))
      .flatMap(({ inputs }) => Object.keys(inputs).filter(path => (inputs[path]?.bytesInOutput ?? 0) > 0))
    const copied = files.filter(name => name.endsWith('/package.json'))
    const packages = [...ofFunctions, ...others, ...copied]
      .map(path => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
      .filter(name => name !== undefined)
    const { components } = jsonOf<{ components: { name: string }[] }>(`${base}.cdx.json`)
    expect(packages).toEqual(expect.arrayContaining(['openpgp', 'valibot', '@aws-sdk/client-dynamodb']))
    expect([...new Set(components.map(one => one.name))].sort()).toEqual([...new Set(packages)].sort())
  })
})

describe('a release is refused', () => {
  test('without --dry-run', () => {
    const { status, stderr } = release(first, plain)
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^npm run release cannot publish yet\. .*--dry-run.* homepage, bugs, repository are placeholders/,
      ),
    ])
  })

  test('with an unknown option', () => {
    expect(release(first, plain, '--dry-run', '--publish')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("Unknown option '--publish'"),
    })
  })

  test('of changed files, of a version with a tag, and without a run of CI, and the artefacts stay', () => {
    const before = artefact('SHA256SUMS', second).toString()
    writeFileSync(`${second}/new.ts`, '')
    gitIn(second, 'tag', `v${version}`)
    rmSync(`${second}/.build/ci-green`)
    const { status, stderr } = release(second, other, '--dry-run')
    expect([status, stderr.split('\n')]).toEqual([
      1,
      [
        'no release can be made:',
        expect.stringMatching(/^ {2}the checkout differs from its commit: new\.ts\./),
        expect.stringContaining(`version ${version} exists`),
        expect.stringContaining('.ci/run has not succeeded'),
        '',
      ],
    ])
    expect(artefact('SHA256SUMS', second).toString()).toBe(before)
  })
})
