/// A sequence of bytes to find in JSON texts.
///
/// It uses Horspool's algorithm, which reads only every n-th byte of most texts for a sequence of n bytes. `String`
/// compares characters instead, which takes about fifty times as long. It would also miss a sequence that a combining
/// character follows. *Source*: R. N. Horspool, Practical fast searching in strings (1980).
package struct ByteSearch: Sendable {
    /// The number of bytes; an empty sequence is never found.
    package let count: Int
    private let wanted: [UInt8]
    /// How far the search advances, by the last byte of a position that does not match.
    private let steps: [UInt8]

    /// Makes a search for the UTF-8 of a text.
    package init(_ text: String) {
        wanted = Array(text.utf8)
        count = wanted.count
        // A shorter step than possible is correct, too.
        var steps = Array(repeating: UInt8(clamping: max(count, 1)), count: 256)
        for (at, byte) in wanted.dropLast().enumerated() {
            steps[Int(truncatingIfNeeded: byte)] = UInt8(clamping: count - 1 - at)
        }
        self.steps = steps
    }

    /// Returns the index of the first match in bytes, from the index `start`; `nil` if there is none.
    func first(in bytes: [UInt8], _ range: Range<Int>) -> Int? {
        guard let last = wanted.last else { return nil }
        // Horspool's algorithm is quadratic for a long sequence that a hostile text repeats almost.
        if count > 255 { return bytes[range].firstRange(of: wanted)?.lowerBound }
        let (bytes, wanted, steps) = (bytes.span, wanted.span, steps.span)
        var end = range.lowerBound + count - 1
        while end < range.upperBound {
            let byte = bytes[end]
            if byte == last {
                var length = 1
                while length < count, bytes[end - length] == wanted[count - 1 - length] {
                    length += 1
                }
                if length == count { return end - count + 1 }
            }
            end += Int(truncatingIfNeeded: steps[Int(truncatingIfNeeded: byte)])
        }
        return nil
    }
}

extension RawJSON {
    /// Returns whether the bytes of the value contain a sequence, anywhere and as it is written.
    package func contains(_ search: ByteSearch) -> Bool {
        search.first(in: bytes, range) != nil
    }

    /// Returns the text with each occurrence of a sequence replaced, from the first on; the same value if there is
    /// none.
    ///
    /// The bytes after an occurrence are replaced with it as long as `isReplaced` returns `true` for them. The result
    /// must be valid JSON.
    package func replacing(
        _ search: ByteSearch,
        with other: String,
        andBytesWhile isReplaced: (UInt8) -> Bool = { _ in false }
    ) -> RawJSON {
        guard var match = search.first(in: bytes, range) else { return self }
        var kept: [UInt8] = []
        kept.reserveCapacity(range.count + other.utf8.count)
        var done = range.lowerBound
        while true {
            kept += bytes[done..<match]
            kept += other.utf8
            done = match + search.count
            while done < range.upperBound, isReplaced(bytes[done]) { done += 1 }
            guard let next = search.first(in: bytes, done..<range.upperBound) else { break }
            match = next
        }
        kept += bytes[done..<range.upperBound]
        return RawJSON(unchecked: kept)
    }
}
