/// Eight bytes of a text, compared at a time.
///
/// A result has the highest bit of each byte that matches. Bytes after the first match may be wrong, so only the first
/// one counts (``first(_:)``). *Source*: S. E. Anderson, Bit Twiddling Hacks, "Determine if a word has a zero byte" and
/// "a byte less than n".
struct ByteWord {
    /// The number of bytes.
    static let width = 8

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    private let bytes: UInt64

    /// Reads the bytes from a position on, of which the text must have eight.
    @inline(__always)
    init(_ text: Span<UInt8>, _ position: Int) {
        let word = unsafe text.bytes.unsafeLoadUnaligned(
            fromByteOffset: position,
            as: UInt64.self
        )
        bytes = UInt64(littleEndian: word)
    }

    /// Finds the bytes that are equal to one.
    @inline(__always)
    func matches(of byte: UInt8) -> UInt64 {
        let difference = bytes ^ (Self.ones &* UInt64(truncatingIfNeeded: byte))
        return (difference &- Self.ones) & ~difference & Self.highBits
    }

    /// Finds the bytes below a limit of at most 128.
    @inline(__always)
    func matches(below limit: UInt8) -> UInt64 {
        (bytes &- Self.ones &* UInt64(truncatingIfNeeded: limit)) & ~bytes & Self.highBits
    }

    /// Returns the index of the first match in a result that is not 0.
    @inline(__always)
    static func first(_ matches: UInt64) -> Int { matches.trailingZeroBitCount / 8 }

    /// Returns the position of the next byte that is not a plain part of a string: a quotation mark, a backslash or a
    /// control character; `end` if there is none.
    @inline(__always)
    static func special(in text: Span<UInt8>, from start: Int, _ end: Int) -> Int {
        var at = start
        while at + ByteWord.width <= end {
            let word = ByteWord(text, at)
            let found =
                word.matches(of: UInt8(ascii: "\"")) | word.matches(of: UInt8(ascii: "\\"))
                | word.matches(below: 0x20)
            if found != 0 { return at + ByteWord.first(found) }
            at += ByteWord.width
        }
        while at < end {
            let byte = text[at]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            at += 1
        }
        return at
    }
}
