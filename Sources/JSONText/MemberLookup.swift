/// The direct members of an object, found in one pass for readers of several of them.
///
/// A name is not decoded: a lookup compares the bytes of names of the same length. For the 20 to 60 members of an
/// upstream's object this takes less time than a dictionary, which hashes all of them.
package struct MemberLookup: Sendable {
    private struct Entry: Sendable {
        let name: JSONScanner.Literal
        let value: Range<Int>
        /// The decoded name if it is written with escapes; for an invalid one a byte that no name has.
        let decoded: [UInt8]?
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
        json.eachMember { scanner, name, value, _ in
            if entries.isEmpty { entries.reserveCapacity(32) }
            let decoded =
                name.hasEscapes ? scanner.text(name).map { Array($0.utf8) } ?? [0xff] : nil
            entries.append(Entry(name: name, value: value, decoded: decoded))
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

    /// The first member of each name, in one pass.
    package var distinct: [(name: String, value: RawJSON)] {
        let scanner = JSONScanner(bytes)
        var seen: Set<String> = []
        return entries.compactMap { entry in
            let name = scanner.text(entry.name) ?? ""
            return seen.insert(name).inserted ? (name, RawJSON(bytes, entry.value)) : nil
        }
    }

    /// Returns the value of the first member of a name; `nil` if there is none.
    package subscript(name: String) -> RawJSON? {
        var name = name
        return name.withUTF8 { unsafe value(of: $0.span) }
    }

    private func value(of name: Span<UInt8>) -> RawJSON? {
        let bytes = bytes.span
        for entry in entries where (entry.decoded?.count ?? entry.name.range.count) == name.count {
            if let decoded = entry.decoded {
                guard name.indices.allSatisfy({ decoded[$0] == name[$0] }) else { continue }
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
