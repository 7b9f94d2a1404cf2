import Foundation
package import PollerIdentity
package import PollerWatches

/// The events of its account that an endpoint subscribes to; an empty filter excludes nothing.
package struct EndpointScope: Hashable, Sendable {
    /// The maximum number of patterns, more than there are types.
    package static let typesMax = 50
    /// The maximum number of sources; a larger subscription should use all sources, or metadata.
    package static let sourcesMax = 100
    /// The maximum number of metadata entries.
    package static let metadataMax = 10

    /// Every event of the account.
    package static let everything = EndpointScope()

    /// The event types, such as `source.chargeable`, or prefixes such as `source.*`.
    package let types: [String]
    package let sources: Set<SourceID>
    /// The entries that the watch's metadata must all contain.
    package let metadata: [String: String]
    /// Whether only the last event of a run is sent: the final status, or the end of polling.
    package let finalOnly: Bool

    private init() {
        types = []
        sources = []
        metadata = [:]
        finalOnly = false
    }

    /// Checks the filters.
    package init(
        types: [String] = [],
        sources: [String] = [],
        metadata: [String: String] = [:],
        finalOnly: Bool = false
    ) throws(InvalidInput) {
        guard types.count <= Self.typesMax else {
            throw InvalidInput(
                "types",
                "names \(types.count) types; at most \(Self.typesMax) are allowed"
            )
        }
        for type in types where !Self.isPattern(type) {
            throw InvalidInput(
                "types",
                "must be event types such as source.chargeable, or all of a kind: "
                    + "\(EventSubject.families.map { "\($0).*" }.joined(separator: ", "))"
            )
        }
        guard sources.count <= Self.sourcesMax else {
            throw InvalidInput(
                "sources",
                "names \(sources.count) sources; at most \(Self.sourcesMax) are allowed"
            )
        }
        var ids: Set<SourceID> = []
        for text in sources { ids.insert(try SourceID(text)) }
        guard metadata.count <= Self.metadataMax else {
            throw InvalidInput(
                "metadata",
                "has \(metadata.count) entries; at most \(Self.metadataMax) are allowed"
            )
        }
        self.types = types
        self.sources = ids
        self.metadata = metadata
        self.finalOnly = finalOnly
    }

    /// Whether an event passes, according to its own data, without the metadata.
    package func includes(_ event: Event) -> Bool {
        (!finalOnly || event.closed != nil)
            && (sources.isEmpty || sources.contains(event.key.source))
            && (types.isEmpty || types.contains { Self.matches($0, event.type) })
    }

    /// Whether a watch with this metadata passes: a JSON object, or empty.
    package func admits(metadata text: String) -> Bool {
        if metadata.isEmpty { return true }
        // The store contains an object of strings; any other text matches nothing.
        guard let found = try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        else { return false }
        return metadata.allSatisfy { found[$0.key] == $0.value }
    }

    /// Whether a pattern matches a type, or everything that another pattern matches.
    static func matches(_ pattern: String, _ type: String) -> Bool {
        pattern.hasSuffix(".*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
    }

    private static func isPattern(_ text: String) -> Bool {
        let name = text.hasSuffix(".*") ? text.dropLast(2) : text[...]
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let isName = name.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
                || byte == UInt8(ascii: "-")
        }
        return isName && text.utf8.count <= 128
            && parts.first.map { EventSubject.families.contains(String($0)) } ?? false
            && (text.hasSuffix(".*") || parts.count > 1)
    }
}
