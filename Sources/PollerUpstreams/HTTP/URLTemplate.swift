import Poller
import PollerNet

/// The URL of one source, with `{id}` where its id goes: in the path or the query, so that no id
/// can choose the host.
struct URLTemplate: Hashable, Sendable {
    private let before: String
    private let after: String
    /// What a source's URL begins with: scheme, host and port written in one way.
    private let start: String

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
        let example = try HTTPTarget(try NotifyURL(before + "id" + after, field: "url"))
        start = String(example.url.dropLast(2 + after.count))
    }

    /// The source whose URL this is; nil when it is none of this template.
    func source(at target: HTTPTarget) -> SourceID? {
        let url = target.url
        guard url.hasPrefix(start), url.hasSuffix(after), url.count > start.count + after.count
        else { return nil }
        let id = url.dropFirst(start.count).dropLast(after.count)
        // What is no id, a slash or a percent sign in it, would address something else.
        guard let source = try? SourceID(String(id)), id != ".", id != ".." else { return nil }
        return source
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
