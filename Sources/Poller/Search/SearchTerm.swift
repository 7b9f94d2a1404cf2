import Crypto

/// An entry of the index by which watches are found: a fingerprint of a text that a watch has.
///
/// *Shape*: eight characters of base32, forty bits of SHA-256 over the normal text. The first three are
/// the bucket: 32,768 in a partition hold a handful of entries each, in the small encoding of a hash, at
/// any size of a store that one Redis holds. Two texts with one fingerprint are told apart by the record,
/// which is read anyway.
///
/// What is in the index: the source, the order, the charge, the sum, and of the metadata that are searched
/// each value and its words. All else is found by looking at records, so far and no further
/// (``ListPage/looked``).
package struct SearchTerm: Hashable, Sendable, CustomStringConvertible {
    /// Entries a watch may have: 64 bytes keep its hash in the small encoding.
    package static let countMax = 8
    /// Characters of an entry, and those of them that name its bucket.
    package static let length = 8
    package static let bucketLength = 3
    /// Of these, those that metadata may have before a poll has seen anything.
    private static let ofMetadataMax = 5

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    package let description: String

    /// The entry of a text, which is normal (``SearchText/normal(_:)``).
    init(text: String) {
        let bytes = SHA256.hash(data: Array(text.utf8)).prefix(5)
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let letters = (0..<Self.length).map { at in
            Self.alphabet[Int(bits >> UInt64(5 * (Self.length - 1 - at)) & 31)]
        }
        description = String(decoding: letters, as: UTF8.self)
    }

    /// The entry of a sum in the smallest unit, which no text is.
    init(amount: Int) {
        self.init(text: "amount \(amount)")
    }

    /// The entries of a watch as it begins.
    package static func terms(of watch: NewWatch, keys: SearchKeys) -> [SearchTerm] {
        let own = [watch.key.source.description, watch.order?.description].compactMap(\.self)
        let metadata =
            watch.metadata.isEmpty ? [] : SearchText.values(keys.names, metadata: watch.metadata)
        let values = metadata.map(SearchText.normal)
        // A value as a whole goes before the words of any.
        let words = values.flatMap {
            $0.split(separator: " ").filter { $0.count > 1 }.map(String.init)
        }
        var texts: [String] = []
        for text in values + words where !text.isEmpty && !texts.contains(text) {
            texts.append(text)
        }
        var all = own.map(SearchText.normal)
        all += texts.filter { !all.contains($0) }.prefix(ofMetadataMax)
        return unique(all.map { SearchTerm(text: $0) })
    }

    /// The entries that a change may add: the sum and the charge it tells of.
    package static func terms(after change: WatchChange) -> [SearchTerm] {
        guard let event = change.event else { return [] }
        let amount = change.events.lazy.compactMap(\.payment?.amount).first
        let charge = event.progress.charge.map { SearchText.normal("\($0)") }
        return [amount.map { SearchTerm(amount: $0) }, charge.map { SearchTerm(text: $0) }]
            .compactMap(\.self)
    }

    /// All entries of a watch, to put one into the index that was not in it.
    package static func terms(of snapshot: WatchSnapshot, keys: SearchKeys) -> [SearchTerm] {
        let amount = (snapshot.payment?.amount).map { SearchTerm(amount: $0) }
        let found = texts(of: snapshot, keys)
        let words = found.flatMap {
            $0.split(separator: " ").filter { $0.count > 1 }.map(String.init)
        }
        let texts = (found + words.filter { !found.contains($0) }).map { SearchTerm(text: $0) }
        return Array(unique([amount].compactMap(\.self) + texts).prefix(countMax))
    }

    /// What a watch is found by when somebody names no field, normal.
    static func texts(of snapshot: WatchSnapshot, _ keys: SearchKeys) -> [String] {
        let watch = snapshot.watch
        let own = [
            watch.key.source.description, watch.order?.description,
            watch.state.charge.charge?.description,
        ]
        let texts = own.compactMap(\.self) + SearchText.values(keys.names, snapshot)
        return texts.map(SearchText.normal)
    }

    private static func unique(_ terms: [SearchTerm]) -> [SearchTerm] {
        var seen: Set<SearchTerm> = []
        return terms.filter { seen.insert($0).inserted }
    }
}
