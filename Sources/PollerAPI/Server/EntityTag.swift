import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import Poller
import PollerIdentity

// What a client has seen, and what it may replace.
//
// Every answer of JSON to a GET below /v1 has an `ETag`, made of its bytes as the caller is told them: so
// it tells nobody more than the answer does. A client that sends it as `If-None-Match` is told 304 while the
// answer would be the same. Of what two people may edit, the tag begins with the revision of what can be
// edited (`"<revision>.<digest>"`), and a change that names it in `If-Match` is made only while that holds:
// the rest of such an answer, such as how many deliveries wait, changes all the time and is
// nobody's to lose. The store compares the revision in the very step that writes.
//
// Rejected: a version instead of the bytes (an answer is made of several records), and `Last-Modified` (two
// changes within a second are one).
//
// Source: RFC 9110 §8.8.3 and §13.

/// One tag of an answer, or of a header that names some.
struct EntityTag: Hashable, Sendable {
    /// What stands between the quotation marks.
    let opaque: String
    var isWeak = false

    /// The tag of an answer of these bytes.
    init(of bytes: some Sequence<UInt8>, revision: String? = nil) {
        var hash = SHA256()
        hash.update(data: Array(bytes))
        let digest = Base64URL.encode(hash.finalize().prefix(16))
        opaque = revision.map { "\($0).\(digest)" } ?? digest
    }

    private init(opaque: String, isWeak: Bool) {
        (self.opaque, self.isWeak) = (opaque, isWeak)
    }

    /// The tag as it stands in a header.
    var text: String { "\(isWeak ? "W/" : "")\"\(opaque)\"" }

    /// The revision that it begins with; nil of one that has none.
    var revision: Substring? {
        opaque.contains(".") ? opaque.prefix { $0 != "." } : nil
    }

    /// The tags of a header with commas between; nil for what is no such list.
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
            // Between two there is a comma, or a blank of a sender who forgot it.
            guard rest.isEmpty || rest.startIndex > before else { return nil }
        }
        return tags.isEmpty ? nil : tags
    }
}

/// What a change holds for: `If-Match`.
enum Precondition: Hashable, Sendable {
    /// Whatever is there.
    case none
    /// `*`: anything that is there.
    case exists
    /// One of these revisions.
    case revisions(Set<String>)

    /// Whether it holds for a revision; nil for what is not there.
    func holds(for revision: String?) -> Bool {
        switch self {
        case .none: true
        case .exists: revision != nil
        case .revisions(let revisions): revision.map(revisions.contains) ?? false
        }
    }

    /// What is answered when it does not hold.
    static let failed = Problem(
        .preconditionFailed,
        "It is not what your If-Match names any more: GET it again, look at what has changed, and send "
            + "your change with its new ETag.",
        field: "If-Match"
    )
}

extension RouteInput where Value == Precondition {
    /// What the change holds for.
    static var ifMatch: Self {
        let parameter = RouteParameter(
            name: "If-Match",
            place: .header,
            description: """
                The ETag of what is to be changed, as GET has told it: 412 precondition_failed when \
                somebody else has changed it since. Whatever is there when it is absent.
                """,
            schema: ["type": "string", "minLength": 1]
        )
        return Self([parameter]) { values throws(Problem) in
            guard let text = values.header(.ifMatch) else { return .none }
            if text == "*" { return .exists }
            guard let tags = EntityTag.list(text) else {
                throw Problem(
                    .invalidHeader,
                    "If-Match must be an ETag as GET has told it, with its quotation marks, or *.",
                    field: "If-Match"
                )
            }
            // Tags that are weak are equal to none here (RFC 9110 §13.1.1).
            let strong = tags.filter { !$0.isWeak }
            return .revisions(Set(strong.compactMap { $0.revision.map(String.init) }))
        }
    }
}

extension RouteDescription {
    /// Whether its answers have an `ETag`.
    var hasTags: Bool {
        method == .get && path.hasPrefix("/v1/")
            && answers.contains { $0.status == 200 && $0.content?.type == "application/json" }
    }

    /// The answer with its tag, or 304 for who has it already.
    ///
    /// What has waited for news is told as it is: it was asked for by what the client has seen.
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
        // A list that is none is of somebody who has nothing of ours.
        let isKnown =
            known == "*" || (EntityTag.list(known) ?? []).contains { $0.opaque == tag.opaque }
        return isKnown
            ? Response(status: .notModified, headers: [.eTag: tag.text]) : response
    }

    /// The header that asks for it, as it is described.
    static let ifNoneMatch = RouteParameter(
        name: "If-None-Match",
        place: .header,
        description: "The ETag of an answer you have: 304 while it would be the same.",
        schema: ["type": "string"]
    )

    /// The answer that says so.
    static let unchanged = RouteAnswer(
        status: 304,
        description: "It is what your If-None-Match names.",
        headers: tagHeader
    )

    static let tagHeader: [String: SchemaNode] = ["ETag": .reference("headers/ETag")]
}

extension Response {
    /// The same with the revision of what can be edited in it, which its `ETag` will begin with.
    ///
    /// Letters, digits, `-` and `_`.
    func revised(_ revision: String) -> Response {
        var response = self
        response.headers[.eTag] = revision
        return response
    }

    /// The bytes of the body.
    func collectedBody() async throws -> ByteBuffer {
        let collected = CollectedBody()
        try await body.write(collected)
        return collected.bytes
    }
}

/// What is written of a body.
///
/// A class, because a body is handed its writer for good.
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
