/// Suggestions for misspelled words.
package enum Spelling {
    /// Returns the nearest known word; `nil` if none is near.
    ///
    /// At most two letters may differ, or one letter of a short word. Among equally near words, the first one wins.
    package static func nearest(to word: String, among known: [String]) -> String? {
        guard word.utf8.count <= 64 else { return nil }
        let near = known.map { (name: $0, distance: distance($0, word)) }
            .min { $0.distance < $1.distance }
        return near.flatMap { $0.distance <= min(2, ($0.name.count + 1) / 3) ? $0.name : nil }
    }

    /// Returns the nearest known word, or else the first one with this prefix of at least two letters.
    package static func nearestOrLonger(than word: String, among known: [String]) -> String? {
        nearest(to: word, among: known)
            ?? (word.count > 1 ? known.first { $0.hasPrefix(word) } : nil)
    }

    /// Returns the Levenshtein distance, with a swap of two letters counted as one edit.
    private static func distance(_ a: String, _ b: String) -> Int {
        let (a, b) = (Array(a), Array(b))
        var rows = [Array(0...b.count)]
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                let kept = rows[i][j] + (a[i] == b[j] ? 0 : 1)
                row.append(min(kept, rows[i][j + 1] + 1, row[j] + 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    row[j + 1] = min(row[j + 1], rows[i - 1][j - 1] + 1)
                }
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
