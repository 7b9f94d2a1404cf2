/// The direct members of an object, found in one pass for readers of several of them.
///
/// A name is not decoded: a lookup compares the bytes of names of the same length. For the 20 to 60 members of an
/// upstream's object this takes less time than a dictionary, which hashes all of them.
package struct MemberLookup: Sendable {
    private struct Entry: Sendable {
        let name: JSONScanner.Literal
        let value: Range<Int>
    }

    /// The members of a value that is not an object.
    package static let none = MemberLookup(bytes: [], entries: [])

    private let bytes: [UInt8]
    private let entries: [Entry]

    private init(bytes: [UInt8], entries: [Entry]) {
        self.bytes = bytes
        self.entries = entries
    }

    /// Finds the members of a value; one that is not an object has none.
    package init(_ json: RawJSON) {
        var entries: [Entry] = []
        json.eachMember { _, name, value, _ in
            if entries.isEmpty { entries.reserveCapacity(32) }
            entries.append(Entry(name: name, value: value))
            return true
        }
        self.init(bytes: json.bytes, entries: entries)
    }

    /// Whether there are no members.
    package var isEmpty: Bool { entries.isEmpty }

    /// The names of all members; a repeated name is repeated.
    package var names: [String] {
        let scanner = JSONScanner(bytes)
        return entries.map { scanner.text($0.name) ?? "" }
    }

    /// Returns the value of the first member of a name; `nil` if there is none.
    package subscript(name: String) -> RawJSON? {
        var name = name
        return name.withUTF8 { unsafe value(of: $0.span) }
    }

    private func value(of name: Span<UInt8>) -> RawJSON? {
        let bytes = bytes.span
        for entry in entries where entry.name.hasEscapes || entry.name.range.count == name.count {
            if entry.name.hasEscapes {
                guard let decoded = JSONScanner(self.bytes).text(entry.name),
                    decoded.utf8.count == name.count,
                    decoded.utf8.enumerated().allSatisfy({ name[$0] == $1 })
                else { continue }
                return RawJSON(self.bytes, entry.value)
            }
            let start = entry.name.range.lowerBound
            var at = 0
            while at < name.count, bytes[start + at] == name[at] { at += 1 }
            if at == name.count { return RawJSON(self.bytes, entry.value) }
        }
        return nil
    }
}
