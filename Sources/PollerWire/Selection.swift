package import JSONText

/// Watches that something is to be done with, by what they are like instead of by their names.
public struct WatchSelection: WireObject, Hashable {
    /// The words of a search, as `q` of the list takes them.
    public var words: String?
    /// Of this account only; nil for all that the key may see.
    public var account: String?
    /// Whether to count only, and do nothing; nil for doing it.
    public var isDryRun: Bool?
    /// ``SelectionResult/next`` of the part before; nil for the first.
    public var cursor: String?

    /// A selection of everything the words are about.
    public init() {}

    package static let shape = Shape<WatchSelection>(
        request: "WatchSelection",
        "a selection",
        mustBe: #"The body must be a selection, an object such as {"q":"order=A77"}"#,
        .keyword("required", #"["q"]"#)
    ) {
        Field("q", \.words, .length(1...1000), note: "The words of a search; at least one.")
        Field("account", \.account, .accountID, note: "Of this account only.")
        Field("dry_run", \.isDryRun, note: "Count them, and do nothing.")
        Field("cursor", \.cursor, .length(1...1024), note: "next of the part before.")
    }
}

/// What became of one part of a selection.
public struct SelectionResult: WireObject, Hashable {
    /// Watches that it was about.
    public var matched = 0
    /// Those with which it was done: others had changed meanwhile, or it was only to be counted.
    public var done = 0
    /// Records that were looked at; nil for who may not see everything.
    public var looked: Int?
    /// Where the next part begins; nil when this was the last.
    public var next: String?

    package init() {}

    package static let shape = Shape<SelectionResult>("SelectionResult") {
        Field("matched", \.matched, note: "Watches that it was about.")
        Field("done", \.done, note: "Those with which it was done.")
        Field(
            "looked",
            \.looked,
            note: "Records that were looked at; left out for keys that are bound to accounts."
        )
        Field(nullable: "next", \.next, note: "Send it as cursor for the next part.")
    }
}

/// One payment as an archive has it: everything that a store needs to restore it.
public struct ArchiveLine: WireObject, Hashable {
    /// The watch, with ``Watch/memory``.
    public var watch = Watch()
    /// Its events, the last 100, oldest first.
    package var events: [RawJSON] = []
    /// The server's signature of both; nil where they could not be restored.
    public var digest: String?

    package init() {}

    package static let shape = Shape<ArchiveLine>("ArchiveLine") {
        Field("watch", \.watch)
        Field(
            "events",
            \.events,
            .keyword("items", ##"{"$ref":"#/components/schemas/Event"}"##),
            note: "The last 100, oldest first."
        )
        Field(
            "digest",
            \.digest,
            note:
                "The server's signature of watch and events, without which a restore needs trust=true."
        )
    }
}

/// What became of one part of an archive.
public struct RestoreResult: WireObject, Hashable {
    /// Watches that were put back.
    public var restored = 0
    /// Those of which there is one already, which stays as it is.
    public var present = 0
    /// Those that had not ended: what is still to be watched is enqueued, not restored.
    public var open = 0

    package init() {}

    package static let shape = Shape<RestoreResult>("RestoreResult") {
        Field("restored", \.restored, note: "Watches that were put back.")
        Field("present", \.present, note: "There is one already, which stays as it is.")
        Field("open", \.open, note: "Had not ended, and were left out: enqueue them instead.")
    }
}
