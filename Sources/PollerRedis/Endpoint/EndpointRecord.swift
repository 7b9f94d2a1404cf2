import Foundation
import JSONText
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import SafeNumbers

/// A registered endpoint in Redis.
///
/// *Shape*: `<created ms> <updated ms> <account> <JSON>`. The script writes the part before the JSON, so its times are
/// the store's. Its secrets and header values are encrypted if there is a master key. Its URL is not, because the API
/// also returns it.
enum EndpointRecord {
    /// Returns the JSON of the owner's settings.
    static func json(
        _ endpoint: Endpoint,
        sealedBy keys: MasterKeys
    ) throws(StoreError) -> String {
        try Wire(endpoint, Seals(keys, "\(endpoint.id)", endpoint.account))
            .stored(as: "the endpoint \(endpoint.id)")
    }

    /// Reads a value; `nil` if it is not valid.
    ///
    /// - Throws: ``SealError`` if a secret in it cannot be decrypted.
    static func endpoint(
        _ id: String,
        _ value: String,
        openedBy keys: MasterKeys
    ) throws(SealError) -> Endpoint? {
        let parts = value.split(separator: " ", maxSplits: 3)
        guard parts.count == 4, let created = Timestamp(stored: parts[0]),
            let updated = Timestamp(stored: parts[1]),
            let wire = try? JSONDecoder().decode(Wire.self, from: Data(parts[3].utf8))
        else { return nil }
        let account = AccountID(unchecked: String(parts[2]))
        do {
            return try wire.endpoint(
                id: EndpointID(unchecked: id),
                account: account,
                createdAt: created,
                updatedAt: updated,
                Seals(keys, id, account)
            )
        } catch let error as SealError {
            throw error
        } catch {
            return nil
        }
    }

    /// Reads the part of a value that the script writes, and that every release understands.
    static func foreign(_ id: String, _ value: String) -> ForeignEndpoint {
        let parts = value.split(separator: " ", maxSplits: 3)
        let times = parts.prefix(2).compactMap { Timestamp(stored: $0) }
        // Safe: the account is used only if there are four parts.
        let account = parts.count == 4 && times.count == 2 ? String(parts[2]) : nil
        return ForeignEndpoint(
            id: EndpointID(unchecked: id),
            account: account.map(AccountID.init(unchecked:)),
            createdAt: times.first ?? Timestamp(ms: 0),
            updatedAt: times.last ?? Timestamp(ms: 0)
        )
    }

    /// Re-encrypts a value's secrets that are not encrypted by the first key; `nil` if all of them are.
    ///
    /// Only the text of these secrets changes. A record of a newer release keeps what this one does not know.
    ///
    /// - Throws: ``SealError`` if a secret cannot be decrypted, or if the secrets cannot be found in the value.
    static func resealed(
        _ id: String,
        _ value: String,
        by keys: MasterKeys
    ) throws(SealError) -> String? {
        let parts = value.split(separator: " ", maxSplits: 3)
        let account = AccountID(unchecked: parts.count > 2 ? String(parts[2]) : "")
        let seals = Seals(keys, id, account)
        guard parts.count == 4, var json = RawJSON(String(parts[3])),
            let found = sealed(in: json, seals)
        else { throw .unreadable(seals.secret) }
        var isChanged = false
        // From the last to the first, so that the places of the others stay.
        for (text, location) in found.reversed() {
            guard let stored = text.string, !keys.isCurrent(stored) else { continue }
            let new = keys.seal(try keys.open(stored, at: location), at: location)
            json = json.replacing(text, with: RawJSON(unchecked: JSONWriter.literal(new)))
            isChanged = true
        }
        return isChanged ? "\(parts[0]) \(parts[1]) \(parts[2]) \(json)" : nil
    }

    /// Returns the encrypted texts of a record in their order, with what they are; `nil` if it has another form.
    private static func sealed(
        in json: RawJSON,
        _ seals: Seals
    ) -> [(RawJSON, SealedLocation)]? {
        guard let members = json.members else { return nil }
        var found: [(RawJSON, SealedLocation)] = []
        for member in members where ["headers", "secrets"].contains(member.name) {
            guard let elements = member.value.elements else { return nil }
            for element in elements {
                guard let value = element.member("value"), value.kind == .string else { return nil }
                if member.name == "secrets" {
                    found.append((value, seals.secret))
                } else if let name = element.member("name")?.string {
                    found.append((value, seals.header(name)))
                } else {
                    return nil
                }
            }
        }
        return found
    }

    /// Encrypts and decrypts the secrets of one endpoint.
    private struct Seals {
        let keys: MasterKeys
        let secret: SealedLocation
        private let id: String
        private let account: AccountID

        init(_ keys: MasterKeys, _ id: String, _ account: AccountID) {
            self.keys = keys
            secret = SealedLocation(.endpointSecret, id, of: account)
            (self.id, self.account) = (id, account)
        }

        func header(_ name: String) -> SealedLocation {
            SealedLocation(.endpointHeader, "\(id) \(name)", of: account)
        }
    }

    /// The stored form, without default values.
    private struct Wire: Codable {
        struct Limit: Codable {
            let rate: Double
            let burst: Int
            let inFlight: Int
        }

        /// A secret, its end, and the request that made it.
        struct Secret: Codable {
            let value: String
            let endsMs: Int64?
            let request: String?
        }

        /// The reason and time of disabling, and whether the system did it.
        struct Disabled: Codable {
            let reason: String
            let atMs: Int64
            let byUs: Bool?
        }

        /// The span and the id of the fallback.
        struct NotifyBy: Codable {
            let withinMs: Int64
            let fallback: String
        }

        /// A header with its value.
        struct Header: Codable {
            let name: String
            let value: String
        }

        let url: String
        let name: String?
        let types: [String]?
        let sources: [String]?
        let metadata: [String: String]?
        let finalOnly: Bool?
        let coalesces: Bool?
        let retry: String?
        let waitsMs: [Int64]?
        let timeoutMs: Int64?
        let limit: Limit?
        let headers: [Header]?
        let payload: String?
        let secrets: [Secret]?
        let disabled: Disabled?
        let notifyBy: NotifyBy?

        /// The valid rates of a limit, in requests per second: from one in about twelve days to more than any server
        /// accepts.
        private static let rates = 0.000_001...1e9

        init(_ endpoint: Endpoint, _ seals: Seals) {
            let scope = endpoint.scope
            url = endpoint.url.description
            name = endpoint.name
            types = scope.types.isEmpty ? nil : scope.types
            sources =
                scope.sources.isEmpty ? nil : scope.sources.map(\.description).sorted()
            metadata = scope.metadata.isEmpty ? nil : scope.metadata
            finalOnly = scope.finalOnly ? true : nil
            coalesces = endpoint.coalesces ? true : nil
            retry = endpoint.retry == .standard ? nil : endpoint.retry.name
            if case .own(let schedule) = endpoint.retry {
                waitsMs = schedule.waits.map(\.ms)
            } else {
                waitsMs = nil
            }
            timeoutMs = endpoint.timeout?.ms
            limit = endpoint.limit.map { limit in
                Limit(
                    rate: limit.ratePerSecond,
                    burst: limit.burst,
                    inFlight: limit.inFlightMax
                )
            }
            headers =
                endpoint.headers.isEmpty
                ? nil
                : endpoint.headers.map { header in
                    Header(
                        name: header.name,
                        value: seals.keys.seal(header.value, at: seals.header(header.name))
                    )
                }
            payload = endpoint.payload == .full ? nil : endpoint.payload.rawValue
            secrets = endpoint.secrets.map { secret in
                Secret(
                    value: seals.keys.seal(secret.secret.reveal, at: seals.secret),
                    endsMs: secret.endsAt?.ms,
                    request: secret.request
                )
            }
            if case .disabled(let reason, let at, let by) = endpoint.state {
                let byUs = by == .ourselves ? true : nil
                disabled = Disabled(reason: reason, atMs: at.ms, byUs: byUs)
            } else {
                disabled = nil
            }
            notifyBy = endpoint.notifyBy.map { notifyBy in
                NotifyBy(
                    withinMs: notifyBy.within.ms,
                    fallback: notifyBy.fallback.description
                )
            }
        }

        func endpoint(
            id: EndpointID,
            account: AccountID,
            createdAt: Timestamp,
            updatedAt: Timestamp,
            _ seals: Seals
        ) throws -> Endpoint {
            var live: [EndpointSecret] = []
            for secret in secrets ?? [] {
                live.append(
                    EndpointSecret(
                        try WebhookSecret(seals.keys.open(secret.value, at: seals.secret)),
                        endsAt: secret.endsMs.map { Timestamp(ms: $0) },
                        request: secret.request
                    )
                )
            }
            var endpoint = Endpoint(
                id: id,
                account: account,
                name: name,
                url: try NotifyURL(url),
                secrets: live,
                createdAt: createdAt,
                updatedAt: updatedAt
            )
            endpoint.scope = try EndpointScope(
                types: types ?? [],
                sources: sources ?? [],
                metadata: metadata ?? [:],
                finalOnly: finalOnly ?? false
            )
            endpoint.coalesces = coalesces ?? false
            if let waitsMs {
                // Not checked against today's limits, which may be narrower than those of the release that wrote it.
                let waits = waitsMs.map { Duration.milliseconds(max($0, 1000)) }
                endpoint.retry = .own(RetrySchedule(waits: waits))
            } else if let retry {
                endpoint.retry = try RetryChoice(named: retry)
            }
            endpoint.timeout = timeoutMs.map { .milliseconds($0) }
            endpoint.limit = try limit.map { limit in
                guard limit.rate == 0 || Self.rates.contains(limit.rate) else {
                    throw StoreError.corrupt("the limit of the endpoint \(id) is out of range")
                }
                return LaneLimit(
                    ratePerSecond: limit.rate,
                    burst: Int(clampingSafe: limit.burst),
                    inFlightMax: Int(clampingSafe: limit.inFlight)
                )
            }
            guard endpoint.timeout.map({ $0 > .zero && $0 <= Endpoint.timeoutMax }) ?? true else {
                throw StoreError.corrupt("the timeout of the endpoint \(id) is out of range")
            }
            for header in headers ?? [] {
                let location = seals.header(header.name)
                let value = try seals.keys.open(header.value, at: location)
                endpoint.headers.append(try EndpointHeader(header.name, value))
            }
            if let payload {
                // A form of another release may be one without the upstream's object, so it is not sent whole.
                guard let known = Endpoint.Payload(rawValue: payload) else {
                    throw StoreError.corrupt("the payload of the endpoint \(id) is unknown")
                }
                endpoint.payload = known
            }
            if let disabled {
                endpoint.state = .disabled(
                    reason: disabled.reason,
                    at: Timestamp(ms: disabled.atMs),
                    by: disabled.byUs == true ? .ourselves : .person
                )
            }
            if let notifyBy {
                endpoint.notifyBy = try Endpoint.NotifyBy(
                    within: .milliseconds(notifyBy.withinMs),
                    fallback: EndpointID(unchecked: notifyBy.fallback)
                )
            }
            return endpoint
        }
    }
}

extension Encodable {
    /// Returns the JSON of a record, which the error calls `what`.
    func stored(as what: String) throws(StoreError) -> String {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        } catch {
            throw .corrupt("\(what) cannot be written")
        }
    }
}
