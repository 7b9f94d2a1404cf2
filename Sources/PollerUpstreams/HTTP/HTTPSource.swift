package import Poller
import PollerNet

/// An upstream that answers JSON, described by configuration alone.
///
/// Watches name it by their account and `kind: http`; it is one lane, so give each host one.
package struct HTTPSource: Sendable {
    /// What watches call it.
    package let name: AccountID
    /// What may be asked at once and in a second.
    package let limit: LaneLimit
    let template: URLTemplate
    let status: JSONPointer
    let final: Set<String>
    let headers: [Header]
    let timeout: Duration

    /// A header of every request; its value never shows itself.
    package struct Header: Sendable, CustomStringConvertible, CustomReflectable {
        let name: String
        let value: String

        /// Checks that both can stand in a request.
        package init(_ name: String, _ value: String) throws(InvalidInput) {
            let isName = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
            let owned = ["host", "content-length", "transfer-encoding", "connection"]
            guard isName, !name.isEmpty, !owned.contains(name.lowercased()) else {
                throw InvalidInput(field: "headers", message: "may not set \(name.prefix(64))")
            }
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), value.utf8.count <= 4096
            else {
                throw InvalidInput(
                    field: "headers",
                    message: "\(name) must be at most 4096 printable ASCII characters"
                )
            }
            self.name = name
            self.value = value
        }

        /// The name alone.
        package var description: String { name }

        /// Shows the description instead of the value.
        package var customMirror: Mirror { Mirror(self, children: ["name": name]) }
    }

    /// Describes an upstream.
    ///
    /// - Parameters:
    ///   - name: what watches call it.
    ///   - url: where one source is, `{id}` standing for the source.
    ///   - status: where in the answer the status is.
    ///   - final: the statuses that cannot change any more, compared without case.
    ///   - headers: of every request.
    ///   - timeout: for everything from the name's resolution to the last byte.
    ///   - limit: what may be asked at once and in a second.
    /// - Throws: ``InvalidInput`` naming the first part that is wrong.
    package init(
        name: AccountID,
        url: String,
        status: JSONPointer,
        final: Set<String>,
        headers: [Header] = [],
        timeout: Duration,
        limit: LaneLimit
    ) throws(InvalidInput) {
        self.name = name
        template = try URLTemplate(url)
        self.status = status
        guard !final.isEmpty else {
            throw InvalidInput(
                field: "final",
                message: "must name the statuses that end a watch, or none ever does"
            )
        }
        self.final = Set(final.map { $0.lowercased() })
        self.headers = headers
        self.timeout = timeout
        self.limit = limit
    }

    /// The lane of its watches.
    package var lane: LaneID { LaneID(account: name, kind: .http) }
}
