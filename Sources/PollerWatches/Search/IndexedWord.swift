import PollerIdentity
import PollerPayments

/// A word in the sorted search index.
///
/// *Problem.* People type prefixes: `Müll` of Müller, `ORD-2026-1` of an order. A fingerprint (``SearchTerm``) finds
/// only whole words, and an entry for each prefix would cost five entries per word.
///
/// *Approach.* Words of up to ``bytesMax`` bytes have no fingerprint. They are in a sorted index (KEY.words of
/// `lib_search_index.lua`), the word before the item's ID, so that one entry finds the word and each of its prefixes. A
/// longer word has its first ``bytesMax`` bytes there, for prefixes, and a fingerprint for the whole.
///
/// *Format*: UTF-8 without spaces, 1 to ``bytesMax`` bytes, of which the first is `0` (0x30) or above: the leaves of
/// the index begin with that (lib_created_index.lua). Signs before it, as in `#1001` or `+49…`, are left out; the match
/// is compared with the record. *Cost*: about 35 bytes of Redis, plus the word's bytes twice (<doc:Growth>).
package struct IndexedWord: Hashable, Sendable, CustomStringConvertible {
    /// The maximum size of a word in bytes, enough for the longest order numbers and most email addresses.
    package static let bytesMax = 20
    /// The maximum number of words of a watch: its order, and four of metadata and email.
    package static let countMax = 6
    /// The minimum length of a prefix in characters: a single one would match a tenth of everything.
    static let beginningMin = 2

    package let description: String

    /// Creates a whole word; `nil` for a longer text, several words, or nothing but signs.
    init?(_ word: String) {
        guard !word.contains(" "), let kept = Self.kept(word), kept.utf8.count <= Self.bytesMax
        else { return nil }
        description = kept
    }

    /// Creates the prefix of a word of any length; `nil` for nothing but signs.
    init?(beginningOf word: String) {
        let first = word.split(separator: " ").first.map(String.init) ?? ""
        guard let kept = Self.kept(first) else { return nil }
        var clipped = String.UnicodeScalarView()
        var count = 0
        for scalar in kept.unicodeScalars {
            count += scalar.utf8.count
            guard count <= Self.bytesMax else { break }
            clipped.append(scalar)
        }
        description = String(clipped)
    }

    /// Whether it is long enough to be a prefix.
    var isBeginning: Bool { description.count >= Self.beginningMin }
    /// The entry that scripts look up to find only this word.
    var whole: String { " \(description) " }
    /// The entry that scripts look up to find all words with this prefix.
    var beginning: String { " \(description)" }

    private static func kept(_ word: String) -> String? {
        let kept = word.unicodeScalars.drop { $0.value < 0x30 }
        return kept.isEmpty ? nil : String(String.UnicodeScalarView(kept))
    }
}

/// The entries by which a watch is found: fingerprints and words.
package struct SearchEntries: Hashable, Sendable {
    package let terms: [SearchTerm]
    package let words: [IndexedWord]

    package init(of watch: NewWatch, keys: SearchKeys) {
        let metadata =
            watch.metadata.isEmpty ? [] : SearchText.values(keys.names, metadata: watch.metadata)
        self.init(
            ids: [SearchTerm.entered(watch.key)?.description].compactMap(\.self),
            order: watch.order?.description,
            values: metadata + SearchText.recipients(watch.notify)
        )
    }

    /// Creates all entries of a watch, to add it to the index later.
    package init(of snapshot: WatchSnapshot, keys: SearchKeys) {
        let charge = snapshot.watch.state.charge.charge?.description
        self.init(
            amount: snapshot.payment?.amount,
            ids: [SearchTerm.entered(snapshot.watch.key)?.description, charge].compactMap(\.self),
            order: snapshot.watch.order?.description,
            values: SearchText.values(keys.names, snapshot)
                + SearchText.recipients(snapshot.notify)
        )
    }

    /// Creates the entries that a change may add: its sum and its charge.
    package init(after change: WatchChange) {
        guard let event = change.event else {
            self.init(ids: [], order: nil, values: [])
            return
        }
        let amount = change.events.lazy.compactMap(\.payment?.amount).first
        let charge = event.progress.charge.map { "\($0)" }
        self.init(amount: amount, ids: [charge].compactMap(\.self), order: nil, values: [])
    }

    /// Creates entries.
    ///
    /// An order is found by its whole name, and if it has several words, by each of them: `#1001` by 1001, too.
    private init(amount: Amount? = nil, ids: [String], order: String?, values: [String]) {
        let whole = order.map(TextForm.normal)
        let texts = ids.map(TextForm.normal).map { SearchTerm(of: $0) }
        let all =
            [whole].compactMap(\.self)
            + SearchText.longestWords(of: [order].compactMap(\.self) + values)
        var seen: Set<String> = []
        let found = all.filter { seen.insert($0).inserted }
            .prefix(SearchTerm.ofPeopleMax + (whole == nil ? 0 : 1))
        // A word that is whole in the index of words needs no fingerprint.
        let long = found.filter { IndexedWord($0) == nil }.map { SearchTerm(of: $0) }
        terms = SearchTerm.unique(
            [amount].compactMap { $0.map(SearchTerm.init(amount:)) } + texts + long
        )
        var known: Set<IndexedWord> = []
        words = Array(
            found.compactMap(IndexedWord.init(beginningOf:)).filter { known.insert($0).inserted }
                .prefix(IndexedWord.countMax)
        )
    }

    /// The form that scripts take: the fingerprints without spaces, then each word after a space.
    package var stored: String {
        terms.map(\.description).joined() + words.map(\.beginning).joined()
    }
}
