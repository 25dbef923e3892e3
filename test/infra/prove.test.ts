import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { neededRights } from '../../infra/command/prove/kubernetes.ts'
import { stageOfRun } from '../../infra/command/prove/names.ts'
import { pairProbes } from '../../infra/command/prove/pair.ts'
import { podProbes } from '../../infra/command/prove/pod.ts'
import { buildProvePolicy, eksPolicyRows, policyRows } from '../../infra/command/prove/policy.ts'
import { buildPodTemplate, buildProbeTemplate } from '../../infra/command/prove/probe-stack.ts'
import { probes, unaskedClaims } from '../../infra/command/prove/probes.ts'
import { buildAssetsTemplate, KEY_DAYS, prepareTemplate } from '../../infra/command/prove/templates.ts'
import { makeEmptyBundles } from '../../infra/local/template/synth.ts'
import { createTemplatesApp, readTemplateEntries } from '../../infra/release/templates.ts'
import { settingsSchema } from '../../infra/settings.ts'
import { type Resource, stacksOf } from './synthesised.ts'

const RUN = '0a1b2c3d'
const stage = stageOfRun(RUN)
const folder = mkdtempSync(`${tmpdir()}/prove-`)
afterAll(() => rmSync(folder, { recursive: true }))

const parts = ['data', 'api', 'workers'] as const
const released: Record<string, string> = {}
const prepared: Record<string, string> = {}
beforeAll(() => {
  makeEmptyBundles(`${folder}/bundles`)
  const entries = readTemplateEntries(createTemplatesApp(`${folder}/bundles`, `${folder}/out`).synth())
  for (const part of parts) {
    const bytes = entries.find(one => one.name === `${part}.template.json`)?.bytes ?? new Uint8Array()
    released[part] = Buffer.from(bytes).toString()
    prepared[part] = prepareTemplate(released[part], RUN)
  }
})

type Resources = Record<string, Resource>
const resourcesOf = (part: string): Resources =>
  (JSON.parse(prepared[part] ?? '') as { Resources: Resources }).Resources

/** Returns what a stack keeps when it is deleted, by logical id. */
const policiesOf = (resources: Resources) =>
  Object.fromEntries(
    Object.entries(resources).flatMap(([id, one]) =>
      one.DeletionPolicy === undefined
        ? []
        : [[id, [one.DeletionPolicy, one.Properties.Replicas?.[0].DeletionProtectionEnabled ?? false]]],
    ),
  )

describe('the templates of a run', () => {
  test('have the policies of a deployment without deletion protection', () => {
    const unprotected = stacksOf({ stage, deletionProtection: false })
    for (const part of parts) {
      const resources = unprotected.get(`cloud-auth-${stage}-${part}`)?.Resources ?? {}
      expect(policiesOf(resourcesOf(part)), part).toEqual(policiesOf(resources))
    }
    expect(JSON.stringify(prepared)).not.toMatch(/Retain/)
  })

  test('have the names of a deployment of the run’s stage', () => {
    const own = stacksOf({ stage, deletionProtection: false })
    for (const part of parts) {
      const names = (text: string) =>
        [...text.matchAll(/cloud-auth[-/](?:prod|prove)[\w-]*/g)].map(([name]) => name)
      const wanted = JSON.stringify(own.get(`cloud-auth-${stage}-${part}`))
      expect(new Set(names(prepared[part] ?? '')), part).toEqual(new Set(names(wanted)))
    }
    expect(JSON.stringify(prepared)).not.toMatch(/cloud-auth[-/]prod\b/)
    expect(settingsSchema.entries.stage['~standard'].validate(stage)).toEqual({ typed: true, value: stage })
  })

  test('of the other region differ only in their stage', () => {
    const other = stageOfRun(RUN, true)
    for (const part of parts)
      expect(prepareTemplate(released[part] ?? '', RUN, true), part).toBe(
        prepared[part]?.replaceAll(/(cloud-auth[-/])prove-\w+/g, `$1${other}`),
      )
    expect(settingsSchema.entries.stage['~standard'].validate(other)).toEqual({ typed: true, value: other })
  })

  test('have no schedule that is enabled', () => {
    const rules = Object.values(resourcesOf('workers')).filter(one => one.Type === 'AWS::Events::Rule')
    const scheduled = rules.filter(one => one.Properties.ScheduleExpression !== undefined)
    expect(scheduled.map(one => one.Properties.State)).toEqual(['DISABLED', 'DISABLED', 'DISABLED'])
    expect(JSON.stringify(prepared)).not.toContain('AWS::Scheduler')
  })

  test('delete the key as soon as KMS allows', () => {
    const [key] = Object.values(resourcesOf('data')).filter(one => one.Type === 'AWS::KMS::Key')
    expect(key?.Properties.PendingWindowInDays).toBe(KEY_DAYS)
  })

  test('have no function without a log group of its stack, because its log would be left', () => {
    for (const part of parts)
      for (const one of Object.values(resourcesOf(part)))
        if (one.Type === 'AWS::Lambda::Function') expect(one.Properties.LoggingConfig?.LogGroup).toBeDefined()
  })
})

describe('the template of the probes', () => {
  const { Resources } = JSON.parse(buildProbeTemplate(undefined)) as { Resources: Resources }

  test('has code that CloudFormation accepts inline', () => {
    expect(Resources['Function']?.Properties.Code.ZipFile.length).toBeLessThanOrEqual(4096)
  })

  test('has an instance that terminates itself, and that no address can reach', () => {
    const { Properties } = Resources['Instance'] as Resource
    expect(Properties.InstanceInitiatedShutdownBehavior).toBe('terminate')
    expect(JSON.stringify(Properties.UserData)).toContain('shutdown -h +60')
    expect(Resources['Group']?.Properties.SecurityGroupIngress).toBeUndefined()
  })

  test('gives the function a role without permissions, and the instance none', () => {
    expect(Object.keys(Resources['Role']?.Properties)).toEqual(['AssumeRolePolicyDocument'])
    expect(Resources['Instance']?.Properties.IamInstanceProfile).toBeUndefined()
  })
})

describe('the template of the pod', () => {
  const { Resources } = JSON.parse(buildPodTemplate(RUN, 'shop-1')) as { Resources: Resources }

  test('gives the service account of the run’s namespace a role without permissions', () => {
    expect(Object.keys(Resources['Role']?.Properties)).toEqual(['AssumeRolePolicyDocument'])
    expect(Resources['Role']?.Properties.AssumeRolePolicyDocument.Statement).toEqual([
      {
        Effect: 'Allow',
        Principal: { Service: 'pods.eks.amazonaws.com' },
        Action: ['sts:AssumeRole', 'sts:TagSession'],
      },
    ])
    expect(Resources['Association']?.Properties).toEqual({
      ClusterName: 'shop-1',
      Namespace: `cloud-auth-prove-${RUN}`,
      ServiceAccount: 'probe',
      RoleArn: { 'Fn::GetAtt': ['Role', 'Arn'] },
      Tags: [{ Key: 'cloud-auth:prove', Value: RUN }],
    })
  })
})

test('the page has the rights that a run needs in an EKS cluster', () => {
  const page = readFileSync(new URL('../../docs/do/prove.md', import.meta.url), 'utf8')
  const [, block = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
  const rules = [...block.matchAll(/apiGroups: \["(.*)"\], resources: \[(.*)\], verbs: \[(.*)\]/g)]
  const listed = rules.flatMap(([, group = '', resource = '', verbs = '']) =>
    verbs.split(', ').map(verb => `${verb} ${group}/${resource}`),
  )
  const needed = neededRights.map(({ verb, group, resource, subresource }) =>
    [`${verb} ${group}/${resource}`, ...(subresource ? [subresource] : [])].join('/'),
  )
  expect(listed.toSorted()).toEqual(needed.toSorted())
})

test('each unverified claim is checked by a run, or has a reason why it is not', () => {
  const page = readFileSync(new URL('../../docs/look-up/unverified.md', import.meta.url), 'utf8')
  const claims = [...page.matchAll(/<a id="([\w-]+)">/g)].map(([, id = '']) => id)
  expect(claims.length).toBeGreaterThan(30)
  expect([...Object.keys(probes), ...Object.keys(unaskedClaims)].toSorted()).toEqual(claims.toSorted())
  const [, asked = ''] = /asks these rows in an account of yours: ([^.]+)\./.exec(page) ?? []
  expect([...asked.matchAll(/`([a-z][\w-]*)`/g)].map(([, id]) => id)).toEqual(
    [probes, pairProbes, podProbes].flatMap(table => Object.keys(table)),
  )
  // a run in one region without an EKS cluster does not ask these claims
  const further = [pairProbes, podProbes].flatMap(table => Object.keys(table))
  expect(Object.keys(unaskedClaims)).toEqual(expect.arrayContaining(further))
})

describe('the policies of a run', () => {
  const policies = [buildProvePolicy(), buildProvePolicy(eksPolicyRows)]
  const rows = { ...policyRows, ...eksPolicyRows }

  test('stand on their page', () => {
    const page = readFileSync(new URL('../../docs/do/prove.md', import.meta.url), 'utf8')
    const blocks = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block = '']) => JSON.parse(block))
    expect(blocks).toEqual(policies)
  })

  test('fit into managed policies', () => {
    for (const policy of policies) expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6144)
  })

  test('has statements for each type of resource that a run makes, and for no other type', () => {
    const texts = [
      ...Object.values(prepared),
      buildProbeTemplate('subnet'),
      buildPodTemplate(RUN, 'shop-1'),
      buildAssetsTemplate(),
    ]
    const made = texts.flatMap(text =>
      Object.values((JSON.parse(text) as { Resources: Resources }).Resources).map(one => one.Type),
    )
    const covered = Object.values(rows).flatMap(row => row.types ?? [])
    expect(new Set(covered)).toEqual(new Set(made))
  })

  test('names only resources of runs where AWS allows to name resources', () => {
    const everywhere = Object.entries(rows)
      .filter(([, row]) => row.condition === undefined && row.resources.includes('*'))
      .map(([name]) => name)
    expect(everywhere).toEqual(['Subnet', 'Scaling', 'Queries', 'InstanceReads'])
  })
})
