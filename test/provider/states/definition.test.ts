import { describe, expect, test } from 'vitest'
import { defineAttemptWorkflow } from '../../../infra/constructs/attempt-definition.ts'
import { defineDrillWorkflow } from '../../../infra/constructs/drill-definition.ts'
import { defineWorkflow } from '../../../infra/constructs/workflow-definition.ts'
import { parseMachineDefinition } from '../../../infra/local/states/definition.ts'
import { ATTEMPT_WORKFLOW } from '../../../shared/ceremony/watch.ts'
import { DRILL_WORKFLOW_NAME, workflowDefinitions } from '../../../shared/workers/workflows.ts'
import { task } from './support.ts'

const arns = { invoke: 'arn:aws:states:::lambda:invoke', worker: 'arn:aws:lambda:x:1:function:worker' }

const machine = (states: object, more: object = {}) => ({
  QueryLanguage: 'JSONata',
  StartAt: Object.keys(states)[0],
  States: states,
  ...more,
})
const shaped = (Output: unknown) => machine({ A: { Type: 'Succeed', Output } })
const retried = (retrier: object) =>
  machine({ A: task({ Next: 'B', Retry: [{ ErrorEquals: ['X'], ...retrier }] }), B: { Type: 'Succeed' } })

describe('definitions of state machines', () => {
  test.each<[what: string, definition: object, fault: string]>([
    [
      'the older query language',
      machine({ A: { Type: 'Succeed' } }, { QueryLanguage: 'JSONPath' }),
      'QueryLanguage',
    ],
    ['an unknown field', machine({ A: task({ ResultPath: '$.x' }) }), 'ResultPath'],
    [
      'another integration',
      machine({ A: task({ Resource: 'arn:aws:states:::dynamodb:getItem' }) }),
      'Resource',
    ],
    ['a Map', machine({ A: { Type: 'Map', Next: 'A' } }), '"Map"'],
    ['a Parallel', machine({ A: { Type: 'Parallel', Next: 'A' } }), '"Parallel"'],
    ['a Pass', machine({ A: { Type: 'Pass', Next: 'A' } }), '"Pass"'],
    ['a wait for a time', machine({ A: { Type: 'Wait', Timestamp: 'x', Next: 'A' } }), 'Timestamp'],
    ['a wait by an expression', machine({ A: { Type: 'Wait', Seconds: '{% 1 %}', Next: 'A' } }), 'Seconds'],
    ['a heartbeat', machine({ A: task({ Next: 'A', HeartbeatSeconds: 1 }) }), 'HeartbeatSeconds'],
    ['a state with End instead of Next', machine({ A: { ...task(), Next: undefined, End: true } }), 'End'],
    ['a pause without jitter', retried({ MaxAttempts: 1 }), 'JitterStrategy'],
    ['a pause with jitter NONE', retried({ MaxAttempts: 1, JitterStrategy: 'NONE' }), 'JitterStrategy'],
    ['a longest pause', retried({ MaxAttempts: 0, MaxDelaySeconds: 5 }), 'MaxDelaySeconds'],
    ['a missing next state', machine({ A: task({ Next: 'Gone' }) }), 'no state Gone'],
    ['a state without a next one', machine({ A: task({ Next: undefined }) }), 'Next'],
    ['an unreadable expression', shaped('{% $states. %}'), 'cannot be read'],
    ['an expression inside a text', shaped('so {% $states.input %}'), 'must be an expression as a whole'],
  ])('%s is refused', (_, definition, fault) => {
    expect(() => parseMachineDefinition(definition)).toThrow(fault)
  })

  test.each<[what: string, expression: string, fault: string | undefined]>([
    ['the operator for absent values', '{% $states.input.a ?? 1 %}', 'the operator ??'],
    ['the operator for false values', '{% $states.input.a ?: 1 %}', 'the operator ?:'],
    ['the function that evaluates text', "{% $eval('1') %}", '$eval'],
    ['the same function as an argument', "{% $map(['1'], $eval) %}", '$eval'],
    ['a conditional', '{% $states.input.a ? 1 : 2 %}', undefined],
    ['the refused signs in a text', '{% \'?? ?: $eval\' & "??" %}', undefined],
    ['the refused signs in a regular expression', '{% $match($states.input.a, /(?:a|b)??/) %}', undefined],
    ...['parse', 'uuid', 'hash', 'range', 'partition'].map((name): [string, string, string] => [
      `the service's own function ${name}`,
      `{% $${name}(1) %}`,
      `the function $${name} is not supported here`,
    ]),
  ])('%s is accepted or refused as by AWS', (_, expression, fault) => {
    const read = () => parseMachineDefinition(shaped({ nested: [expression] }))
    if (fault === undefined) expect(read()).toBeDefined()
    else expect(read).toThrow(fault)
  })

  test.each([
    ...Object.entries(workflowDefinitions).map(
      ([name, one]) => [name, defineWorkflow(name, one, arns)] as const,
    ),
    [DRILL_WORKFLOW_NAME, defineDrillWorkflow(arns)] as const,
    [ATTEMPT_WORKFLOW, defineAttemptWorkflow(arns)] as const,
  ])('the definition of the template for %s is accepted', (_, definition) => {
    expect(parseMachineDefinition(JSON.parse(JSON.stringify(definition))).StartAt).toBe(definition.StartAt)
  })
})
