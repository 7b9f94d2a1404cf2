package import JSONText

/// A selection of watches by search instead of by ID.
public struct WatchSelection: WireObject, Hashable {
    /// The search terms, as in `q` of the list.
    public var words: String?
    /// The account; `nil` for all that the key may access.
    public var account: String?
    /// Whether to count only; `nil` to execute the operation.
    public var isDryRun: Bool?
    /// ``SelectionResult/next`` of the previous part; `nil` for the first part.
    public var cursor: String?

    /// Creates an empty selection.
    public init() {}

    package static let shape = Shape<WatchSelection>(
        request: "WatchSelection",
        "a selection",
        mustBe: #"The body must be a selection, an object such as {"q":"order=A77"}"#,
        .keyword("required", #"["q"]"#)
    ) {
        Field("q", \.words, .length(1...1000)).note("A search with at least one term.")
        Field("account", \.account, .accountID).note("Only watches of this account.")
        Field("dry_run", \.isDryRun).note("Counts the watches and does nothing else.")
        Field("cursor", \.cursor, .length(1...1024)).note("next of the previous part.")
    }
}

/// The result of one part of a selection.
public struct SelectionResult: WireObject, Hashable {
    /// The watches that matched.
    public var matched = 0
    /// The watches the operation was applied to.
    ///
    /// Others have changed meanwhile, or the request only counted.
    public var done = 0
    /// The number of records examined; `nil` for a caller that may not access all accounts.
    public var looked: Int?
    /// The cursor of the next part; `nil` if this was the last.
    public var next: String?

    package init() {}

    package static let shape = Shape<SelectionResult>("SelectionResult") {
        Field("matched", \.matched).note("Watches found.")
        Field("done", \.done).note("Watches the operation was applied to.")
        Field("looked", \.looked)
            .note("Records read. Left out for keys that are limited to accounts.")
        Field(nullable: "next", \.next).note("Send it as cursor for the next part.")
    }
}

/// One payment in an archive, with all data needed to restore it.
public struct ArchiveLine: WireObject, Hashable {
    /// The watch, including ``Watch/memory``.
    public var watch = Watch()
    /// The last 100 events, oldest first.
    package var events: [RawJSON] = []
    /// The server's signature of watch and events; `nil` if they cannot be restored.
    public var digest: String?

    package init() {}

    package static let shape = Shape<ArchiveLine>("ArchiveLine") {
        Field("watch", \.watch)
        Field("events", \.events, .keyword("items", ##"{"$ref":"#/components/schemas/Event"}"##))
            .note("The last 100 events, oldest first.")
        Field("digest", \.digest)
            .note(
                "The server's signature of watch and events. Without it a restore needs trust=true."
            )
    }
}

/// The result of restoring one part of an archive.
public struct RestoreResult: WireObject, Hashable {
    /// The restored watches.
    public var restored = 0
    /// The watches that exist already and were left unchanged.
    public var present = 0
    /// The watches that were still open.
    ///
    /// They must be enqueued instead of restored.
    public var open = 0

    package init() {}

    package static let shape = Shape<RestoreResult>("RestoreResult") {
        Field("restored", \.restored).note("Restored watches.")
        Field("present", \.present).note("Watches that exist already and stay unchanged.")
        Field("open", \.open)
            .note("Watches that had not ended and were skipped. Enqueue them instead.")
    }
}
