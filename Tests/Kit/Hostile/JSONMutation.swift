/// Random damage to documents, which every reader must reject or ignore.
package enum JSONMutation {
    /// Nesting depths, including more than a reader should follow.
    private static let depths = [2, 16, 64]
    private static let lengths = [0, 1, 255, 4096, 70_000]

    /// Returns the bytes of a document with one to four random changes.
    package static func mutated(
        _ document: JSONTree,
        using generator: inout some RandomNumberGenerator
    ) -> [UInt8] {
        var tree = document
        for _ in 0..<Int.random(in: 1...4, using: &generator) { tree = changed(tree, &generator) }
        return damaged(Array(tree.json.utf8), using: &generator)
    }

    /// Returns the bytes of a text, sometimes truncated, changed or not UTF-8.
    package static func damaged(
        _ bytes: [UInt8],
        using generator: inout some RandomNumberGenerator
    ) -> [UInt8] {
        var bytes = bytes
        guard let place = bytes.indices.randomElement(using: &generator) else { return bytes }
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: bytes.removeSubrange(place...)
        case 1: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
        case 2: bytes.insert(contentsOf: [0xED, 0xA0, 0x80], at: place)
        case 3: bytes.insert(UInt8.random(in: 0x80...0xFF, using: &generator), at: place)
        case 4: bytes.remove(at: place)
        default: break
        }
        return bytes
    }

    private static func changed(
        _ tree: JSONTree,
        _ generator: inout some RandomNumberGenerator
    ) -> JSONTree {
        let paths = tree.paths { _ in true }
        guard let path = paths.randomElement(using: &generator) else { return tree }
        let kind = Int.random(in: 0..<8, using: &generator)
        let hostile = (HostileNumbers.numbers + HostileNumbers.others).randomElement(
            using: &generator
        )
        let depth = depths.randomElement(using: &generator) ?? 1
        let length = lengths.randomElement(using: &generator) ?? 1
        let other = paths.randomElement(using: &generator) ?? []
        let moved = other.reduce(tree) { $0.children[$1] }
        let pick = Int.random(in: 0..<1024, using: &generator)
        return tree.replacing(path) { value in
            switch (kind, value) {
            case (0, .object(var members)) where !members.isEmpty:
                members.remove(at: pick % members.count)
                return .object(members)
            case (1, .object(var members)) where !members.isEmpty:
                // The same name twice, with another value.
                members.append((name: members[pick % members.count].name, value: moved))
                return .object(members)
            case (2, .array(let elements)): return .array(elements + elements + [moved])
            case (3, _):
                return (0..<depth).reduce(value) { inner, _ in
                    pick % 2 == 0 ? .array([inner]) : .object([(name: "a", value: inner)])
                }
            case (4, _):
                return .text(String(repeating: pick % 2 == 0 ? "a" : "\u{301}\"", count: length))
            case (5, _): return moved
            case (6, .text(let text)): return .raw(text.isEmpty ? "0" : "\(text.utf8.count)")
            default: return hostile ?? .raw("null")
            }
        }
    }
}
