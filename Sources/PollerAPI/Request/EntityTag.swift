import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import PollerIdentity

// Entity tags: cached versions of responses, and conditional changes.
//
// Every JSON response to a GET below /v1 has an `ETag` computed from its bytes for this caller, so the tag reveals no
// more than the response. A client that sends it as `If-None-Match` gets a 304 while the response is the same. For
// editable objects the tag begins with the revision of the editable part (`"<revision>.<digest>"`), and a change with
// `If-Match` applies only while that revision is current. The remaining fields, such as the number of waiting
// deliveries, change all the time and cannot conflict. The store compares the revision in the same step as the write.
//
// Rejected: a version instead of the bytes, because a response combines several records. Also rejected:
// `Last-Modified`, because it cannot distinguish two changes within a second.
//
// Source: RFC 9110 §8.8.3 and §13.

/// One tag, of a response or in a header.
struct EntityTag: Hashable, Sendable {
    /// The text between the quotation marks.
    let opaque: String
    var isWeak = false

    /// Creates the tag of a response with these bytes.
    init(of bytes: some Sequence<UInt8>, revision: String? = nil) {
        var hash = SHA256()
        hash.update(data: Array(bytes))
        let digest = Base64URL.encode(hash.finalize().prefix(16))
        opaque = revision.map { "\($0).\(digest)" } ?? digest
    }

    private init(opaque: String, isWeak: Bool) {
        (self.opaque, self.isWeak) = (opaque, isWeak)
    }

    /// The tag in header form.
    var text: String { "\(isWeak ? "W/" : "")\"\(opaque)\"" }

    /// The revision prefix; `nil` for a tag without one.
    var revision: Substring? {
        opaque.contains(".") ? opaque.prefix { $0 != "." } : nil
    }

    /// Parses a comma-separated list of tags; `nil` if it is invalid.
    static func list(_ text: String) -> [EntityTag]? {
        var tags: [EntityTag] = []
        var rest = Array(text.utf8)[...]
        func skip() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == UInt8(ascii: ",") } }
        skip()
        while !rest.isEmpty {
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.first == UInt8(ascii: "\"") else { return nil }
            rest = rest.dropFirst()
            guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
            tags.append(
                EntityTag(opaque: String(decoding: rest[..<end], as: UTF8.self), isWeak: isWeak)
            )
            rest = rest[(end + 1)...]
            let before = rest.startIndex
            skip()
            // Tags are separated by a comma, or by a space from clients that omit it.
            guard rest.isEmpty || rest.startIndex > before else { return nil }
        }
        return tags.isEmpty ? nil : tags
    }
}

/// The condition of a change: `If-Match`.
enum Precondition: Hashable, Sendable {
    /// No condition.
    case none
    /// `*`: the object exists.
    case exists
    /// The object has one of these revisions.
    case revisions(Set<String>)

    /// Returns whether the condition holds for a revision; `nil` for a missing object.
    func holds(for revision: String?) -> Bool {
        switch self {
        case .none: true
        case .exists: revision != nil
        case .revisions(let revisions): revision.map(revisions.contains) ?? false
        }
    }

    /// The problem of a condition that does not hold.
    static let failed = Problem(
        .preconditionFailed,
        "The object no longer matches your If-Match: read it again, check what has "
            + "changed, and send your change with the new ETag.",
        field: "If-Match"
    )
}

extension RouteInput where Value == Precondition {
    /// The condition of a change.
    static var ifMatch: Self {
        let parameter = RouteParameter(
            name: "If-Match",
            location: .header,
            description: """
                The ETag of the object to change, from GET. The response is 412 precondition_failed if the object \
                has changed since. Without it, any version is changed.
                """,
            schema: ["type": "string", "minLength": 1]
        )
        return Self([parameter]) { values throws(Problem) in
            guard let text = values.header(.ifMatch) else { return .none }
            if text == "*" { return .exists }
            guard let tags = EntityTag.list(text) else {
                throw Problem(
                    .invalidHeader,
                    "If-Match must be an ETag from a GET response, with its quotation "
                        + "marks, or *.",
                    field: "If-Match"
                )
            }
            // Weak tags never match here (RFC 9110 §13.1.1).
            let strong = tags.filter { !$0.isWeak }
            return .revisions(Set(strong.compactMap { $0.revision.map(String.init) }))
        }
    }
}

extension RouteDescription {
    /// Whether the route's responses have an `ETag`.
    var hasTags: Bool {
        method == .get && path.hasPrefix("/v1/")
            && answers.contains { $0.status == 200 && $0.content?.type == "application/json" }
    }

    /// Returns the response with its tag, or a 304 if the client has the same version.
    ///
    /// The response to a long poll is returned unchanged, since its parameters already name the client's version.
    func tagged(_ response: Response, for request: Request) async throws -> Response {
        guard hasTags, response.status == .ok,
            response.headers[.contentType] == "application/json",
            !(request.uri.query ?? "").split(separator: "&").contains(where: {
                $0.hasPrefix("wait=")
            })
        else { return response }
        var response = response
        let bytes = try await response.collectedBody()
        response.body = ResponseBody(byteBuffer: bytes)
        let tag = EntityTag(of: bytes.readableBytesView, revision: response.headers[.eTag])
        response.headers[.eTag] = tag.text
        guard let known = request.headers[.ifNoneMatch] else { return response }
        // An invalid list matches no tag.
        let isKnown =
            known == "*" || (EntityTag.list(known) ?? []).contains { $0.opaque == tag.opaque }
        return isKnown
            ? Response(status: .notModified, headers: [.eTag: tag.text]) : response
    }

    static let ifNoneMatch = RouteParameter(
        name: "If-None-Match",
        location: .header,
        description: "The ETag of an earlier response. The response is 304 if nothing has changed.",
        schema: ["type": "string"]
    )

    static let unchanged = RouteAnswer(
        status: 304,
        description: "The response still has the ETag in your If-None-Match.",
        headers: tagHeader
    )

    static let tagHeader: [String: SchemaNode] = ["ETag": .reference("headers/ETag")]
}

extension Response {
    /// Returns the response with the revision of its editable part, which becomes the prefix of its `ETag`.
    ///
    /// The revision has letters, digits, `-` and `_`.
    func revised(_ revision: String) -> Response {
        var response = self
        response.headers[.eTag] = revision
        return response
    }

    func collectedBody() async throws -> ByteBuffer {
        let collected = CollectedBody()
        try await body.write(collected)
        return collected.bytes
    }
}

/// Collects the bytes of a body.
///
/// A class, because a body takes ownership of its writer.
private final class CollectedBody: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()

    func write(_ buffer: ByteBuffer) async throws {
        if bytes.readableBytes == 0 {
            bytes = buffer
        } else {
            bytes.writeImmutableBuffer(buffer)
        }
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
