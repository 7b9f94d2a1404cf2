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
    package func first(in bytes: [UInt8], _ range: Range<Int>) -> Int? {
        guard let last = wanted.last else { return nil }
        if count == 1 { return Self.first(last, in: bytes, range) }
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

    /// Returns the index of the first of a single byte, where the algorithm would read every byte.
    private static func first(_ byte: UInt8, in bytes: [UInt8], _ range: Range<Int>) -> Int? {
        let text = bytes.span
        var at = range.lowerBound
        while at + ByteWord.width <= range.upperBound {
            let found = ByteWord(text, at).matches(of: byte)
            if found != 0 { return at + ByteWord.first(found) }
            at += ByteWord.width
        }
        while at < range.upperBound {
            if text[at] == byte { return at }
            at += 1
        }
        return nil
    }
}

extension ByteSearch {
    /// Returns bytes with each occurrence replaced; the same bytes if there is none.
    package func replacing(in bytes: [UInt8], with other: some Collection<UInt8>) -> [UInt8] {
        guard var match = first(in: bytes, bytes.indices) else { return bytes }
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count + 4 * max(other.count - count, 0))
        var done = 0
        while true {
            kept += bytes[done..<match]
            kept += other
            done = match + count
            guard let next = first(in: bytes, done..<bytes.count) else { break }
            match = next
        }
        return kept + bytes[done...]
    }
}

extension RawJSON {
    /// Returns whether the bytes of the value contain a sequence, anywhere and as it is written.
    package func contains(_ search: ByteSearch) -> Bool {
        search.first(in: bytes, range) != nil
    }

    /// Returns whether the value may contain a member, at any depth: a name in quotes, and a colon after it.
    ///
    /// Without one there is no member of this name, unless its name is written with escapes. This takes less time than
    /// a pass over all members.
    package func mayContain(memberNamed quotedName: ByteSearch) -> Bool {
        var start = range.lowerBound
        while let match = quotedName.first(in: bytes, start..<range.upperBound) {
            var at = match + quotedName.count
            while at < range.upperBound, Self.isSpace(bytes[at]) { at += 1 }
            if at < range.upperBound, bytes[at] == UInt8(ascii: ":") { return true }
            start = match + quotedName.count
        }
        return false
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
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
