import { describe, expect, expectTypeOf, test } from 'vitest'
import type { AwsQuestion } from '../../../../shared/api/call.ts'
import { ApiError } from '../../../../shared/api/errors.ts'
import { enforceChecks, type WithPassedChecks } from '../../../../shared/auth-method/login/checks.ts'
import * as ec2 from '../../../../shared/auth-method/login-ec2/decide.ts'
import type { CompleteEc2Facts, Ec2Facts } from '../../../../shared/auth-method/login-ec2/facts.ts'
import {
  addInstanceFacts,
  type GatheredEc2Facts,
  type gatherEc2Facts,
} from '../../../../shared/auth-method/login-ec2/gather.ts'
import type { ec2LoginPhases } from '../../../../shared/auth-method/login-ec2/login.ts'
import { verifyDocument } from '../../../../shared/auth-method/login-ec2/proof.ts'
import * as iam from '../../../../shared/auth-method/login-iam/decide.ts'
import type { CompleteIamFacts, IamFacts } from '../../../../shared/auth-method/login-iam/facts.ts'
import {
  buildStsQuestion,
  type GatheredIamFacts,
  type gatherIamFacts,
} from '../../../../shared/auth-method/login-iam/gather.ts'
import type { iamLoginPhases } from '../../../../shared/auth-method/login-iam/login.ts'
import type {
  CallerArnIdentity,
  VerifiedIdentity,
} from '../../../../shared/identity-proof/caller-identity.ts'
import {
  type InstanceDocument,
  parseInstanceDocument,
  type VerifiedProof,
} from '../../../../shared/identity-proof/instance-document.ts'
import type { OkResult } from '../../../../shared/values/result.ts'
import { ec2Facts } from '../../../builders/ec2-facts.ts'
import { iamFacts } from '../../../builders/iam-facts.ts'
import { ec2Role } from '../../../builders/roles.ts'

// These tests check types: a line marked as a type error must not compile, and the type check fails if the
// line compiles.

type Ec2Decides = Parameters<typeof ec2.decideEc2Login>[0]
type IamDecides = Parameters<typeof iam.decideIamLogin>[0]

describe('an ec2 login that omits a check does not compile', () => {
  const seen = ec2Facts()
  const before = enforceChecks(ec2.ec2ChecksBeforeLookUp, seen)
  const after = enforceChecks(ec2.ec2ChecksAfterLookUp, seen)

  test('only facts that passed both check lists can be decided', () => {
    const both = enforceChecks(ec2.ec2ChecksAfterLookUp, before)
    expectTypeOf(both).toExtend<Ec2Decides>()
    expect(ec2.decideEc2Login(both, 'auth/cloud/login').grant).toMatchObject({ path: 'auth/cloud/login' })
    // @ts-expect-error nothing was checked
    ec2.decideEc2Login(seen, 'path')
    // @ts-expect-error what EC2 says was not checked
    ec2.decideEc2Login(before, 'path')
    // @ts-expect-error what needs no call was not checked
    ec2.decideEc2Login(after, 'path')
  })

  test('adding instance facts keeps the earlier marks and adds no mark', () => {
    expectTypeOf(addInstanceFacts<WithPassedChecks<Ec2Facts>>).returns.resolves.toExtend<
      CompleteEc2Facts & WithPassedChecks<Ec2Facts>
    >()
    expectTypeOf(addInstanceFacts<WithPassedChecks<Ec2Facts>>).returns.resolves.not.toExtend<Ec2Decides>()
    expectTypeOf(addInstanceFacts<Ec2Facts>).returns.resolves.not.toExtend<WithPassedChecks<Ec2Facts>>()
  })

  test('only facts that passed the first checks can be looked up in EC2', () => {
    expectTypeOf<GatheredEc2Facts>().not.toExtend<Parameters<typeof ec2LoginPhases.ask>[1]>()
    expectTypeOf<GatheredEc2Facts<WithPassedChecks<Ec2Facts>>>().toExtend<
      Parameters<typeof ec2LoginPhases.ask>[1]
    >()
  })

  test('only a verified document can be gathered', () => {
    expectTypeOf<Parameters<typeof gatherEc2Facts>[1]>().toEqualTypeOf<VerifiedProof>()
    expectTypeOf(verifyDocument).returns.resolves.toEqualTypeOf<VerifiedProof>()
    expectTypeOf<InstanceDocument>().not.toExtend<VerifiedProof>()
    expectTypeOf(parseInstanceDocument).returns.extract<OkResult<VerifiedProof>>().toBeNever()
    expectTypeOf<Ec2Facts['document']>().toEqualTypeOf<VerifiedProof>()
  })
})

describe('an iam login that omits a check does not compile', () => {
  const seen = iamFacts()
  const before = enforceChecks(iam.iamChecksBeforeLookUp, seen)
  const after = enforceChecks(iam.iamChecksAfterLookUp, seen)

  test('only facts that passed both check lists can be decided', () => {
    const both = enforceChecks(iam.iamChecksAfterLookUp, before)
    expectTypeOf(both).toExtend<IamDecides>()
    expect(iam.decideIamLogin(both, 'auth/cloud/login')).toMatchObject({ path: 'auth/cloud/login' })
    // @ts-expect-error nothing was checked
    iam.decideIamLogin(seen, 'path')
    // @ts-expect-error what IAM and EC2 say was not checked
    iam.decideIamLogin(before, 'path')
    // @ts-expect-error what needs no call was not checked
    iam.decideIamLogin(after, 'path')
  })

  test('only facts that passed the first checks can be looked up in IAM and EC2', () => {
    expectTypeOf<GatheredIamFacts>().not.toExtend<Parameters<typeof iamLoginPhases.ask>[1]>()
    expectTypeOf<GatheredIamFacts>().not.toExtend<Parameters<typeof iamLoginPhases.decide>[1]>()
    expectTypeOf<GatheredIamFacts<WithPassedChecks<IamFacts>>>().toExtend<
      Parameters<typeof iamLoginPhases.ask>[1]
    >()
  })

  test('only an identity from STS can be gathered', () => {
    expectTypeOf<Parameters<typeof gatherIamFacts>[1]>().toEqualTypeOf<VerifiedIdentity>()
    expectTypeOf(buildStsQuestion).returns.resolves.toEqualTypeOf<AwsQuestion<VerifiedIdentity>>()
    expectTypeOf<CallerArnIdentity>().not.toExtend<VerifiedIdentity>()
    expectTypeOf<IamFacts['caller']>().toEqualTypeOf<VerifiedIdentity>()
  })
})

test('checks of the other login type do not count', () => {
  expectTypeOf<WithPassedChecks<IamFacts> & WithPassedChecks<CompleteIamFacts>>().not.toExtend<Ec2Decides>()
  expectTypeOf<WithPassedChecks<Ec2Facts> & WithPassedChecks<CompleteEc2Facts>>().not.toExtend<IamDecides>()
})

test('enforceChecks never returns facts that a check rejects', () => {
  const facts = ec2Facts({ role: ec2Role({ bound: { bound_region: ['us-east-1'] } }) })
  expect(() => enforceChecks(ec2.ec2ChecksBeforeLookUp, facts)).toThrow(ApiError)
})
