/// The values of a packed text, which are joined by `|`, read one after the other.
///
/// It reads an array of bytes: finding the ends in a string takes twice as long. Short values need no memory of their
/// own.
package struct PackedParts {
    private let bytes: [UInt8]
    /// The index of the next value; `nil` after the last one.
    private var position: Int? = 0

    /// Reads `text` from its beginning.
    package init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// Returns the next value; `nil` after the last one.
    package mutating func next() -> String? {
        guard let start = position else { return nil }
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: "|") { end += 1 }
        position = end == bytes.count ? nil : end + 1
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }
}
