import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { parse } from '@cdktf/hcl2json'
import { unzipSync } from 'fflate'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCdkApp, unvalidatedAppProps } from '../../infra/app.ts'
import { checkoutRoot, listFunctionNames } from '../../infra/checkout.ts'
import { makeEmptyBundles } from '../../infra/local/template/synth.ts'
import type { ArchiveEntry } from '../../infra/release/archives.ts'
import {
  createTemplatesApp,
  readTemplateEntries,
  TEMPLATES_STAGE,
  templateParameters,
} from '../../infra/release/templates.ts'
import { readSettings } from '../../infra/settings.ts'
import { defineStacks } from '../../infra/stacks/cluster.ts'
import { type WorkerDefinition, workerDefinitions } from '../../shared/workers/workers.ts'
import type { Resource } from './synthesised.ts'

interface ReleasedTemplate {
  Parameters: Record<string, Record<string, unknown>>
  Rules?: object
  Conditions?: object
  Metadata?: object
  Resources: Record<string, Resource>
}

const folder = mkdtempSync(`${tmpdir()}/release-`)
afterAll(() => rmSync(folder, { recursive: true }))

const parts: readonly string[] = ['data', 'api', 'workers']
/** Reports whether a function is deployed only with a setting, which the templates do not have. */
const isOptionalWorker = (name: string): boolean =>
  Object.entries<WorkerDefinition>(workerDefinitions).some(
    ([worker, { setting }]) => worker === name && setting,
  )
const orderOf = (part: string): number => parts.indexOf(part)
const names = Object.keys(templateParameters)

let entries: ArchiveEntry[] = []
const textOf = (part: string): string =>
  Buffer.from(entries.find(one => one.name === `${part}.template.json`)?.bytes ?? []).toString()
const templateOf = (part: string): ReleasedTemplate => JSON.parse(textOf(part)) as ReleasedTemplate
const functionsOf = (part: string): Resource[] =>
  Object.values(templateOf(part).Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function')

beforeAll(() => {
  makeEmptyBundles(`${folder}/bundles`)
  entries = readTemplateEntries(createTemplatesApp(`${folder}/bundles`, `${folder}/out`).synth())
})

/** Replaces references to parameters by `<name>`, and joins texts. */
function withNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNames)
  if (typeof value !== 'object' || value === null) return value
  const { Ref, 'Fn::Join': join } = value as { Ref?: string; 'Fn::Join'?: [string, unknown[]] }
  if (Ref !== undefined && names.includes(Ref)) return `<${Ref}>`
  const joined = join?.[1].map(withNames)
  if (joined?.every(one => typeof one === 'string')) return joined.join(join?.[0])
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withNames(one)]))
}

/** Returns a template without parameters, rules and the place of the code. */
function comparable(text: string): unknown {
  const { Parameters: _, Rules: __, ...template } = JSON.parse(text) as ReleasedTemplate
  for (const { Type, Properties } of Object.values(template.Resources))
    if (Type === 'AWS::Lambda::Function')
      Properties.Code = JSON.stringify(Properties.Code).match(/[0-9a-f]{64}\.zip/)?.[0]
  return withNames(template)
}

describe('the templates without the CDK', () => {
  test('need no bootstrap: they have no rules, no parameters of the CDK and no names of its resources', () => {
    for (const part of parts) {
      const { Rules, Conditions, Metadata, Parameters } = templateOf(part)
      expect([Rules, Conditions, Metadata], part).toEqual([undefined, undefined, undefined])
      expect(names, part).toEqual(expect.arrayContaining(Object.keys(Parameters)))
      expect(textOf(part), part).not.toMatch(/cdk-hnb|cdk-bootstrap|CDKToolkit|AWS::CDK|aws:cdk|aws:asset/)
    }
  })

  test('have exactly the parameters that their resources use', () => {
    for (const part of parts) {
      const { Parameters, ...rest } = templateOf(part)
      const text = JSON.stringify(rest)
      const used = names.filter(name => text.includes(`{"Ref":"${name}"}`) || text.includes(`\${${name}}`))
      expect(Object.keys(Parameters).sort(), part).toEqual(used.sort())
    }
  })

  test('hide the licence, and have defaults for everything but the bucket', () => {
    const { Parameters } = templateOf('api')
    expect(Object.keys(Parameters).filter(name => Parameters[name]?.['NoEcho'])).toEqual(['License'])
    expect(names.filter(name => Parameters[name]?.['Default'] === undefined)).toEqual(['AssetsBucket'])
  })

  test("say, as the settings' page and the Terraform module do, that a new name does not rename a cluster", () => {
    const places = ['docs/look-up/settings.md', 'infra/release/terraform/main.tf']
    const texts = [
      templateOf('api').Parameters['ClusterName']?.['Description'],
      ...places.map(path => readFileSync(checkoutRoot + path, 'utf8')),
    ]
    for (const text of texts)
      expect(text).toContain('stores the name, so a later change does not rename the cluster')
  })

  test('equal the templates of a CDK app, apart from parameters and the place of the code', () => {
    const app = createCdkApp(`${folder}/plain`, {
      ...unvalidatedAppProps,
      treeMetadata: false,
      stackTraces: false,
    })
    const settings = {
      ...readSettings({ stage: TEMPLATES_STAGE }),
      clusterName: '<ClusterName>',
      license: '<License>',
      licensePublicKey: '<LicensePublicKey>',
    }
    defineStacks(app, { settings, bundles: `${folder}/bundles` })
    app.synth()
    for (const part of parts) {
      const own = readFileSync(`${folder}/plain/cloud-auth-${TEMPLATES_STAGE}-${part}.template.json`, 'utf8')
      expect(comparable(textOf(part)), part).toEqual(comparable(own))
    }
  })

  test('read the code of every function from the bucket, and the archive has the code', () => {
    const lambdas = [...functionsOf('api'), ...functionsOf('workers')]
    expect(lambdas).toHaveLength(listFunctionNames().filter(name => !isOptionalWorker(name)).length)
    for (const { Properties } of lambdas) {
      const { S3Bucket, S3Key } = Properties.Code as Record<string, { 'Fn::Sub': string }>
      expect(S3Bucket).toEqual({ 'Fn::Sub': `\${AssetsBucket}` })
      const [, hash] = /^\$\{AssetsPrefix\}([0-9a-f]{64})\.zip$/.exec(S3Key?.['Fn::Sub'] ?? '') ?? []
      const asset = entries.find(one => one.name === `assets/${hash}.zip`)
      const files = unzipSync(asset?.bytes ?? Buffer.alloc(0))
      const name = Properties.Description.replace('cloud-auth: ', '')
      expect(Buffer.from(files['index.mjs'] ?? []).toString()).toBe(`// ${name}\n`)
    }
    expect(entries.filter(one => one.name.startsWith('assets/'))).toHaveLength(lambdas.length)
  })

  test("leave room for the longest licence in Lambda's 4 KiB of environment variables", () => {
    const { License, LicensePublicKey, ClusterName } = templateParameters
    const most = License.maxLength + LicensePublicKey.maxLength + 64
    expect(ClusterName.allowedPattern).toContain('{1,64}')
    for (const part of parts)
      for (const { Properties } of functionsOf(part)) {
        const text = JSON.stringify(Properties.Environment.Variables)
        expect(text.length + most, Properties.Description).toBeLessThan(4096)
      }
  })

  test('are described with all parameters and files in their README', () => {
    const page = readFileSync(`${checkoutRoot}infra/release/README.md`, 'utf8')
    for (const name of [...names, ...parts.map(part => `${part}.template.json`)])
      expect(page).toContain(`\`${name}\``)
  })
})

interface TerraformModule {
  variable: Record<string, [{ default?: string; sensitive?: boolean }]>
  locals: [{ parameters: Record<string, Record<string, string>> }]
  resource: {
    aws_cloudformation_stack: Record<
      string,
      [
        {
          name: string
          template_url: string
          parameters: string
          capabilities?: string[]
          depends_on?: string[]
        },
      ]
    >
  }
}

describe('the Terraform module', () => {
  const file = 'infra/release/terraform/main.tf'
  const text = readFileSync(checkoutRoot + file, 'utf8')
  let module: TerraformModule
  beforeAll(async () => {
    module = (await parse(file, text)) as unknown as TerraformModule
  })

  test('has at most 200 lines', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(200)
  })

  test('creates the three stacks by their fixed names, in their order', () => {
    const stacks = Object.entries(module.resource.aws_cloudformation_stack).sort(
      ([a], [b]) => orderOf(a) - orderOf(b),
    )
    expect(stacks.map(([part, [{ name }]]) => [part, name])).toEqual(
      parts.map(part => [part, `cloud-auth-${TEMPLATES_STAGE}-${part}`]),
    )
    for (const [index, [part, [stack]]] of stacks.entries()) {
      const before = parts[index - 1]
      expect(stack.template_url).toContain(`template["${part}"]`)
      expect(JSON.stringify(stack.depends_on ?? [])).toContain(
        before === undefined ? '[]' : `aws_cloudformation_stack.${before}`,
      )
    }
  })

  test('passes exactly the parameters of each template, and the capability of its roles', () => {
    const [{ parameters }] = module.locals
    for (const [part, [stack]] of Object.entries(module.resource.aws_cloudformation_stack)) {
      const [, set = ''] = /^\$\{local\.parameters\.(\w+)\}$/.exec(stack.parameters) ?? []
      const template = templateOf(part)
      expect(Object.keys(parameters[set] ?? {}).sort(), part).toEqual(Object.keys(template.Parameters).sort())
      const roles = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::IAM::Role')
      expect(roles.filter(({ Properties }) => Properties.RoleName !== undefined)).toEqual([])
      expect(stack.capabilities ?? [], part).toEqual(roles.length > 0 ? ['CAPABILITY_IAM'] : [])
    }
  })

  test('hides the licence, and has the defaults of the templates', () => {
    const { license, cluster_name: clusterName } = module.variable
    expect(license?.[0].sensitive).toBe(true)
    expect(clusterName?.[0].default).toBe(templateParameters.ClusterName.default)
  })
})
