import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import {
  iamRegionOf,
  isAwsPartition,
  isExistingRegion,
  partitionOfRegion,
  regionOfStsHost,
  stsHost,
  unsupportedRegionFault,
} from '../../../shared/values/region.ts'
import vectors from '../../vectors/aws-certificates.json' with { type: 'json' }

describe('partitions', () => {
  test.each([
    ['us-east-1', 'aws'],
    ['ap-southeast-2', 'aws'],
    ['mx-central-1', 'aws'],
    ['me-south-1', 'aws'],
    ['cn-north-1', 'aws-cn'],
    ['cn-northwest-1', 'aws-cn'],
    ['us-gov-east-1', 'aws-us-gov'],
    ['eusc-de-east-1', 'aws-eusc'],
  ])('the region %s is in the partition %s', (region, partition) => {
    expect(partitionOfRegion(region)).toBe(partition)
  })

  test('every region with certificates has a partition', () => {
    const regions = new Set(vectors.certificates.map(([region]) => region ?? ''))
    expect([...regions].filter(region => !partitionOfRegion(region))).toEqual([])
  })

  test.each([
    '',
    'us',
    'us-east',
    'us-east-',
    '-east-1',
    'us-east-1a',
    'US-EAST-1',
    'us-east-1\n',
    'us-east-1.evil',
    'us_east_1',
    'us-iso-east-1',
    'us-isob-east-1',
    'eu-isoe-west-1',
    'global',
    'usx-east-1',
    `us${'-a'.repeat(20)}-1`,
  ])('%j is in no partition', region => {
    expect(partitionOfRegion(region)).toBeUndefined()
  })

  test.each([
    ['aws', 'us-east-1'],
    ['aws-us-gov', 'us-gov-west-1'],
    ['aws-cn', 'cn-north-1'],
    ['aws-eusc', 'eusc-de-east-1'],
  ] as const)('IAM calls of %s are signed for %s', (partition, region) => {
    expect(iamRegionOf(partition)).toBe(region)
    expect(partitionOfRegion(region)).toBe(partition)
  })

  test.each(['aws-iso', 'AWS', '', 'constructor', '__proto__'])('the partition %j is unknown', name => {
    expect(isAwsPartition(name)).toBe(false)
  })
})

describe('hosts of STS', () => {
  test.each(['us-east-1', 'eu-west-1', 'cn-north-1', 'us-gov-west-1', 'eusc-de-east-1'])(
    'the STS host of the region %s is parsed back to that region',
    region => {
      expect(regionOfStsHost(stsHost(region))).toBe(region)
    },
  )

  test('without an existing region, stsHost returns the global host', () => {
    expect([stsHost(), stsHost('mars')]).toEqual(['sts.amazonaws.com', 'sts.amazonaws.com'])
    expect(regionOfStsHost('sts.amazonaws.com')).toBe('us-east-1')
  })

  test.each([
    ['sts-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
    ['sts.cn-north-1.api.amazonwebservices.com.cn', 'cn-north-1'],
    ['sts.us-west-2.api.aws', 'us-west-2'],
    ['vpce-0123.sts.cn-north-1.vpce.amazonaws.com.cn', 'cn-north-1'],
    ['sts.us-west-2.api.amazonwebservices.com.cn', undefined],
    ['sts.cn-north-1.api.aws', undefined],
    ['STS.us-west-2.amazonaws.com', undefined],
    ['sts.us-west-2.amazonaws.com.', undefined],
  ])('the region of the host %s is %s', (host, region) => {
    expect(regionOfStsHost(host)).toBe(region)
  })
})

test('the existing regions are those of the SDK in the supported partitions', () => {
  const file = createRequire(import.meta.url).resolve('@aws-sdk/core/client')
  const known = [...readFileSync(file, 'utf8').matchAll(/["']([a-z]{2,4}(?:-[a-z]+)+-\d+)["']\s*:/g)]
    .map(([, name = '']) => name)
    .filter(name => partitionOfRegion(name) !== undefined)
  expect(known.length).toBeGreaterThan(35)
  expect(known.filter(name => !isExistingRegion(name))).toEqual([])
  expect(['eu-nowhere-9', 'eu-west-77', 'us-iso-east-1', ''].filter(isExistingRegion)).toEqual([])
})

describe('unsupported partitions', () => {
  test.each([
    ['us-iso-east-1', 'aws-iso'],
    ['us-isob-east-1', 'aws-iso-b'],
    ['eu-isoe-west-1', 'aws-iso-e'],
    ['us-isof-south-1', 'aws-iso-f'],
    ['arn:aws-iso:iam::111122223333:role/app', 'aws-iso'],
    ['arn:aws-iso-b:iam::*', 'aws-iso-b'],
  ])('%s is rejected with the partition %s', (text, name) => {
    expect(unsupportedRegionFault(text, `x: ${text}`)).toBe(
      `x: ${text} belongs to the partition ${name}, which is not supported; supported are aws, aws-cn, aws-us-gov, aws-eusc`,
    )
    expect(partitionOfRegion(text)).toBeUndefined()
  })

  test.each(['us-east-1', 'cn-north-1', 'us-iso', 'us-east-1a', 'arn:aws:iam::111122223333:role/app', ''])(
    'the region %j is in no unsupported partition',
    text => expect(unsupportedRegionFault(text, 'x')).toBeUndefined(),
  )
})
