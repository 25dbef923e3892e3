import validate from 'asl-validator'
import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { describe, expect, test } from 'vitest'
import { unvalidatedAppProps } from '../../infra/app.ts'
import { defineAttemptWorkflow } from '../../infra/constructs/attempt-definition.ts'
import { defineDrillWorkflow } from '../../infra/constructs/drill-definition.ts'
import { WorkflowMachine } from '../../infra/constructs/workflow.ts'
import { defineWorkflow } from '../../infra/constructs/workflow-definition.ts'
import { readSettings } from '../../infra/settings.ts'

const workflow = {
  summary: 'of the test',
  authority: 'POST sys/example',
  steps: ['first', { seconds: 30 }, 'second'],
}
const arns = { invoke: 'arn:aws:states:::lambda:invoke', worker: 'arn:aws:lambda:x:1:function:worker' }

describe('the state machine of a workflow', () => {
  test('for attempts is valid Amazon States Language', async () => {
    expect((await validate(defineAttemptWorkflow(arns))).errors).toEqual([])
  })

  test('is a valid definition for drills', async () => {
    expect((await validate(defineDrillWorkflow(arns))).errors).toEqual([])
  })

  test('is a valid definition', async () => {
    const { isValid, errors } = await validate(defineWorkflow('example', workflow, arns))
    expect(errors).toEqual([])
    expect(isValid).toBe(true)
  })

  test('may invoke only its worker', () => {
    const stack = new Stack(new App(unvalidatedAppProps), 'stack')
    const worker = LambdaFunction.fromFunctionArn(
      stack,
      'Worker',
      'arn:aws:lambda:eu-west-1:111122223333:function:worker',
    )
    const settings = readSettings({ stage: 'test' })
    new WorkflowMachine(stack, 'example workflow', {
      name: 'example',
      definition: to => defineWorkflow('example', workflow, to),
      settings,
      worker,
    })
    const template = Template.fromStack(stack)
    template.hasResourceProperties('AWS::StepFunctions::StateMachine', {
      StateMachineName: 'cloud-auth-test-example',
    })
    template.hasResourceProperties('AWS::IAM::Policy', {
      PolicyDocument: {
        Statement: [
          {
            Action: 'lambda:InvokeFunction',
            Effect: 'Allow',
            Resource: 'arn:aws:lambda:eu-west-1:111122223333:function:worker',
          },
        ],
      },
    })
  })
})
