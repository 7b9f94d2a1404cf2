// Values from the server keep two things: the shape, parsed by the server's schema, and the text. Scripts and
// signatures use the text. It stays byte for byte as it was sent, with members that a newer server has added. The shape
// contains the members that this version knows and ignores the rest.

import JSONText
public import PollerWire
import SafeNumbers

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A value from the server: its shape and its text.
///
/// The shape's properties are available on the value in plain types. A time is a `Date`, a value of an extensible list
/// is a `String`, and metadata is a dictionary.
/// ```swift
/// let watch = try await poller.watch("src_123")
/// if !watch.isOpen { print(watch.closedReason ?? "?", watch.createdAt, watch.json) }
/// ```
@dynamicMemberLookup
public struct Received<Shape: Hashable & Sendable>: Hashable, Sendable {
    /// The parsed shape, as far as this version knows it.
    public let value: Shape
    /// The original text.
    public let json: String

    /// A property of the shape.
    public subscript<Value>(dynamicMember path: KeyPath<Shape, Value>) -> Value {
        value[keyPath: path]
    }

    /// A time.
    public subscript(dynamicMember path: KeyPath<Shape, Time>) -> Date { value[keyPath: path].date }

    /// An optional time.
    public subscript(dynamicMember path: KeyPath<Shape, Time?>) -> Date? {
        value[keyPath: path]?.date
    }

    /// A value of an extensible list.
    public subscript<Known>(dynamicMember path: KeyPath<Shape, Open<Known>>) -> String {
        value[keyPath: path].rawValue
    }

    /// An optional value of an extensible list.
    public subscript<Known>(dynamicMember path: KeyPath<Shape, Open<Known>?>) -> String? {
        value[keyPath: path]?.rawValue
    }

    /// Values of an extensible list.
    public subscript<Known>(dynamicMember path: KeyPath<Shape, [Open<Known>]>) -> [String] {
        value[keyPath: path].map(\.rawValue)
    }

    /// Texts by name.
    public subscript(dynamicMember path: KeyPath<Shape, Texts>) -> [String: String] {
        value[keyPath: path].dictionary
    }
}

extension Received where Shape: WireObject {
    /// Reads a value, or returns `nil` if the text does not fit.
    init?(_ json: RawJSON) {
        // The caller knows the expected type and reports the error.
        guard let value = try? Shape(reading: json) else { return nil }
        self.value = value
        self.json = json.description
    }
}

/// A page of items and the cursor of the next page.
public struct Page<Item: Hashable & Sendable>: Hashable, Sendable {
    /// The items, in order.
    public let items: [Received<Item>]
    /// Whether there are more items now.
    public let hasMore: Bool
    /// The cursor of the next page, or `nil` after the last page.
    public let next: String?
    /// Whether events before these are no longer kept.
    ///
    /// Read the watches again in that case.
    ///
    /// It is never set for watches.
    public let hasGap: Bool
    /// The number of examined records, or `nil` if unknown.
    public let looked: Int?
    /// The page as the server sent it.
    public let json: String
}

extension Page where Item: WireObject {
    /// Reads a page.
    ///
    /// A list that is always sent as a whole (`isWhole`) does not report whether there is more.
    init(_ answer: PollerClient.Answer, isWhole: Bool = false) throws(PollerError) {
        let json = try answer.json
        let hasMore = json.member("has_more")?.bool ?? (isWhole ? false : nil)
        guard let items = json.member("data")?.elements, let hasMore else {
            throw PollerClient.Answer.isForeign
        }
        self.items = try items.map { item throws(PollerError) in
            guard let item = Received<Item>(item) else {
                throw .unintelligible(
                    "an item of the answer cannot be understood: use a client of the server's "
                        + "version"
                )
            }
            return item
        }
        self.hasMore = hasMore
        next = json.member("next")?.string
        hasGap = json.member("gap")?.bool ?? false
        looked = json.member("looked")?.number.flatMap { Int(safe: $0) }
        self.json = json.description
    }
}

extension RawJSON {
    /// Parses text from a server, or returns `nil` if it is not JSON.
    ///
    /// An upstream's object inside it may have duplicate names and the nesting depth that a poll allows. Both are
    /// accepted.
    init?(received bytes: [UInt8]) { self.init(bytes) }
}

extension PollerClient {
    /// A response of the server.
    struct Answer {
        /// The error for a response that is not from a poller.
        static let isForeign = PollerError.unintelligible(
            "the answer is not one of a poller's: check the URL and the server's version"
        )

        let status: Int
        let body: [UInt8]

        /// The body as JSON.
        var json: RawJSON {
            get throws(PollerError) {
                guard let json = RawJSON(received: body) else { throw Self.isForeign }
                return json
            }
        }

        /// Returns the body as a value.
        ///
        /// `noun` is the requested object, such as "a watch".
        func received<Shape: WireObject>(_ noun: String) throws(PollerError) -> Received<Shape> {
            guard let json = try? self.json, let value = Received<Shape>(json) else {
                throw .unintelligible(
                    "the answer is not \(noun): check the URL and the server's version"
                )
            }
            return value
        }

        /// Returns the body as a value without its text.
        func value<Shape: WireObject>() throws(PollerError) -> Shape {
            guard let value = try? Shape(reading: self.json) else { throw Self.isForeign }
            return value
        }
    }
}

extension Time {
    /// Creates a time, rounded to whole milliseconds.
    public init(_ date: Date) {
        self.init(ms: Int64(saturating: (date.timeIntervalSince1970 * 1000).rounded()))
    }

    /// The time for Foundation.
    public var date: Date { Date(timeIntervalSince1970: Double(ms) / 1000) }
}

// Aliases of the wire types, for programs that import this library only.
/// The state of one watched source.
public typealias Watch = PollerWire.Watch
/// A request to watch a source.
public typealias WatchRequest = PollerWire.WatchRequest
/// The charge to make when the source becomes chargeable.
public typealias WatchCharge = PollerWire.WatchCharge
/// One payment in an archive.
public typealias ArchiveLine = PollerWire.ArchiveLine
/// The replacement of an object with a deprecated API.
public typealias Deprecation = PollerWire.Deprecation
/// The result of a batch of requests.
public typealias BatchResult = PollerWire.BatchResult
/// One recorded change of one source.
public typealias WatchEvent = PollerWire.Event
/// The time of a watch's next poll, and the reason.
public typealias WatchExplanation = PollerWire.WatchExplanation
/// A registered recipient of an account's events.
public typealias Endpoint = PollerWire.Endpoint
/// The result of a test event.
public typealias EndpointTest = PollerWire.EndpointTest
/// The pending events of one source for one endpoint.
public typealias Delivery = PollerWire.Delivery
/// One attempt of a delivery.
public typealias DeliveryAttempt = PollerWire.DeliveryAttempt
/// The progress of an endpoint's replay.
public typealias Replay = PollerWire.Replay
/// The current state of a lane.
public typealias Lane = PollerWire.Lane
/// The counts of the cluster's objects.
public typealias Stats = PollerWire.Stats
/// A process of the cluster.
public typealias Worker = PollerWire.Worker
/// A process that left the cluster within a day.
public typealias DepartedWorker = PollerWire.DepartedWorker
/// The server's dependencies and their health.
public typealias HealthReport = PollerWire.HealthReport
/// A key of the API.
public typealias AccessKey = PollerWire.AccessKey
/// A token for the live gateway, with its expiry.
public typealias StreamToken = PollerWire.StreamToken
