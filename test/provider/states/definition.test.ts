import { describe, expect, test } from 'vitest'
import { readDefinition } from '../../../infra/local/states/definition.ts'
import { task } from './support.ts'

const machine = (states: object, more: object = {}) => ({
  QueryLanguage: 'JSONata',
  StartAt: Object.keys(states)[0],
  States: states,
  ...more,
})
const shaped = (Output: unknown) => machine({ A: { Type: 'Pass', Output, End: true } })

describe('definitions that the interpreter honours, and no others', () => {
  test.each<[what: string, definition: object, fault: string]>([
    [
      'the older query language',
      machine({ A: { Type: 'Succeed' } }, { QueryLanguage: 'JSONPath' }),
      'QueryLanguage',
    ],
    ['a field that it does not know', machine({ A: task({ ResultPath: '$.x' }) }), 'ResultPath'],
    [
      'another integration',
      machine({ A: task({ Resource: 'arn:aws:states:::dynamodb:getItem' }) }),
      'Resource',
    ],
    [
      'an element of a distributed Map',
      machine({ A: { Type: 'Map', ItemReader: {}, End: true } }),
      'ItemReader',
    ],
    ['a way to nowhere', machine({ A: task({ End: undefined, Next: 'Gone' }) }), 'no state Gone'],
    ['a state without end', machine({ A: task({ End: undefined }) }), 'Next or End'],
    ['an unreadable expression', shaped('{% $states. %}'), 'cannot be read'],
    ['an expression inside a text', shaped('so {% $states.input %}'), 'no expression as a whole'],
  ])('%s is refused', (_, definition, fault) => {
    expect(() => readDefinition(definition)).toThrow(fault)
  })

  test.each<[what: string, expression: string, fault: string | undefined]>([
    ['the operator for absent values', '{% $states.input.a ?? 1 %}', 'the operator ??'],
    ['the operator for false values', '{% $states.input.a ?: 1 %}', 'the operator ?:'],
    ['the function that runs texts', "{% $eval('1') %}", '$eval'],
    ['the same, passed on', "{% $map(['1'], $eval) %}", '$eval'],
    ['a question', '{% $states.input.a ? 1 : 2 %}', undefined],
    ['their signs in a text', '{% \'?? ?: $eval\' & "??" %}', undefined],
    ['their signs in a regular expression', '{% $match($states.input.a, /(?:a|b)??/) %}', undefined],
    ['the function that the service has instead', "{% $parse('1') %}", undefined],
  ])('%s: taken or refused as by the service', (_, expression, fault) => {
    const read = () => readDefinition(shaped({ nested: [expression] }))
    if (fault === undefined) expect(read()).toBeDefined()
    else expect(read).toThrow(fault)
  })

  test('expressions inside branches and elements are looked at too', () => {
    const inner = shaped('{% 1 ?? 2 %}')
    const { StartAt, States } = inner
    expect(() =>
      readDefinition(machine({ A: { Type: 'Parallel', Branches: [{ StartAt, States }], End: true } })),
    ).toThrow('??')
  })
})
