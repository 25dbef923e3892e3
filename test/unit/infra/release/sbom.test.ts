import type { Metafile } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { buildSbom, listShippedPackages } from '../../../../infra/release/sbom.ts'

const metafile = (inputs: Record<string, number>): Metafile => ({
  inputs: {},
  outputs: {
    'index.mjs': {
      bytes: 1,
      imports: [],
      exports: [],
      inputs: Object.fromEntries(
        Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }]),
      ),
    },
  },
})

const product = { name: 'cloud-auth', version: '1.0.0', license: 'MIT' }
const integrity = `sha512-${Buffer.alloc(64, 1).toString('base64')}`

describe('the packages of an SBOM', () => {
  test('are those with a byte in a bundle, and those that are copied', () => {
    const metafiles = [
      metafile({ 'shared/a.ts': 5, 'node_modules/valibot/dist/index.js': 7, 'node_modules/unused/a.js': 0 }),
      metafile({ 'node_modules/@a/b/node_modules/@c/d/x.js': 1, 'node_modules/valibot/dist/index.js': 7 }),
    ]
    const files = [{ name: 'functions/init/node_modules/openpgp/package.json' }, { name: 'package.json' }]
    expect(listShippedPackages(metafiles, files)).toEqual([
      'node_modules/@a/b/node_modules/@c/d',
      'node_modules/openpgp',
      'node_modules/valibot',
    ])
  })

  test('have version, licence, hash and package URL from package-lock.json', () => {
    const packages = {
      'node_modules/@a/b/node_modules/@c/d': { version: '2.0.0', license: '(MIT OR Apache-2.0)', integrity },
      'node_modules/e': { version: '1.2.3', license: 'ISC', integrity },
    }
    expect(buildSbom(product, Object.keys(packages), { packages })).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { purl: 'pkg:npm/cloud-auth@1.0.0' } },
      components: [
        {
          name: '@c/d',
          purl: 'pkg:npm/%40c/d@2.0.0',
          licenses: [{ expression: '(MIT OR Apache-2.0)' }],
          hashes: [{ alg: 'SHA-512', content: '01'.repeat(64) }],
        },
        { name: 'e', version: '1.2.3', purl: 'pkg:npm/e@1.2.3', licenses: [{ license: { id: 'ISC' } }] },
      ],
      dependencies: [
        { ref: 'pkg:npm/cloud-auth@1.0.0', dependsOn: ['pkg:npm/%40c/d@2.0.0', 'pkg:npm/e@1.2.3'] },
      ],
    })
  })

  test('are listed once when two places have the same version', () => {
    const one = { version: '1.0.0', license: 'MIT', integrity }
    const packages = { 'node_modules/a': one, 'node_modules/b/node_modules/a': one }
    const sbom = buildSbom(product, Object.keys(packages), { packages }) as { components: object[] }
    expect(sbom.components).toHaveLength(1)
  })

  test.each([
    ['no row', {}],
    ['no licence', { 'node_modules/a': { version: '1.0.0', integrity } }],
    ['a weak hash', { 'node_modules/a': { version: '1.0.0', license: 'MIT', integrity: 'sha1-AAAA' } }],
  ])('are rejected with %s in package-lock.json', (_, packages) => {
    expect(() => buildSbom(product, ['node_modules/a'], { packages })).toThrow(/node_modules\/a$/)
  })
})
