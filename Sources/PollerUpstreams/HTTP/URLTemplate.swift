import Poller
import PollerNet

/// The URL of one source, with `{id}` where its id goes: in the path or the query, so that no id
/// can choose the host.
struct URLTemplate: Hashable, Sendable {
    private let before: String
    private let after: String

    /// Checks a template by filling it in.
    init(_ text: String) throws(InvalidInput) {
        let parts = text.split(separator: "{id}", omittingEmptySubsequences: false)
        guard parts.count == 2, !text.replacing("{id}", with: "").contains(where: "{}".contains)
        else {
            throw InvalidInput(
                field: "url",
                message: "must contain {id} once, as https://host/payments/{id}"
            )
        }
        before = String(parts[0])
        after = String(parts[1])
        let scheme = before.hasPrefix("https://") ? 8 : before.hasPrefix("http://") ? 7 : 0
        guard scheme > 0, before.dropFirst(scheme).contains("/") else {
            throw InvalidInput(
                field: "url",
                message: "must be http or https, with {id} after the host"
            )
        }
        guard !text.contains("#"), !text.contains("@") else {
            throw InvalidInput(field: "url", message: "may have no fragment and no user name")
        }
        _ = try target(of: SourceID(unchecked: "id"))
    }

    /// Where a source is; an id has no character that would need encoding.
    func target(of source: SourceID) throws(InvalidInput) -> HTTPTarget {
        // As a segment of its own a dot id would address something else.
        let id = source.description
        guard id != ".", id != ".." else {
            throw InvalidInput(field: "source", message: "is a dot segment")
        }
        return try HTTPTarget(try NotifyURL(before + id + after, field: "url"))
    }
}
