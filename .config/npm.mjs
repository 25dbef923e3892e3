// Runs on the system's Node (20 or later), before the packages of the checkout are installed.

/**
 * Returns the program and the words that run npm: the npm that runs this program, or else the npm in PATH.
 * @param {readonly string[]} words
 * @returns {[program: string, words: string[]]}
 */
export function findNpm(words) {
  const npm = process.env['npm_execpath']
  return npm ? [process.execPath, [npm, ...words]] : ['npm', [...words]]
}
