/** The lines of a picture by name: a value for each number. */
export type Curve = Readonly<Record<string, readonly number[]>>

const [WIDTH, HEIGHT, LEFT, TOP] = [640, 400, 70, 40]
const COLOURS = ['#1f77b4', '#d62728', '#2ca02c', '#ff7f0e', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f']

/** Returns a round step of a picture's scale. Four or a few more steps reach the highest value. */
function stepTo(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(highest / 4))
  return [1, 2, 2.5, 5, 10].map(one => one * power).find(step => step * 4 >= highest) ?? highest / 4
}

/**
 * Draws curves over a series of numbers, as SVG.
 * @param at the numbers, at equal distances
 * @param of the unit of these numbers
 */
export function pictureOf(title: string, at: readonly number[], curves: Curve, of = ''): string {
  const step = stepTo(Math.max(...Object.values(curves).flat(), 1e-9))
  const highest = 4 * step
  const x = (index: number) => LEFT + (index * (WIDTH - LEFT - 190)) / Math.max(1, at.length - 1)
  const y = (value: number) => HEIGHT - 40 - (value / highest) * (HEIGHT - 40 - TOP)
  const text = (left: number, top: number, words: string, more = '') =>
    `<text x="${left.toFixed(0)}" y="${top.toFixed(0)}" ${more}>${words}</text>`
  const scale = [0, 1, 2, 3, 4].map(times => times * step)
  const lines = Object.entries(curves).map(([name, values], index) => {
    const colour = COLOURS[index % COLOURS.length] ?? 'black'
    const points = values.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).join(' ')
    const label = text(WIDTH - 180, TOP + 18 * index, name, `fill="${colour}"`)
    return `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2"/>${label}`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="white"/>',
    text(LEFT, 20, title, 'font-size="15"'),
    ...scale.map(value => {
      const line = `<path d="M${LEFT} ${y(value).toFixed(1)}H${WIDTH - 190}" stroke="#ddd"/>`
      return `${line}${text(LEFT - 8, y(value) + 4, `${Number(value.toPrecision(3))}`, 'text-anchor="end"')}`
    }),
    ...at.map((clients, index) => text(x(index), HEIGHT - 20, `${clients}`, 'text-anchor="middle"')),
    text(LEFT, HEIGHT - 4, of),
    ...lines,
    '</svg>',
    '',
  ].join('\n')
}
