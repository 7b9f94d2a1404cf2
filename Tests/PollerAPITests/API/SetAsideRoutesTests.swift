import Foundation
import NIOHTTP1
import PollerIdentity
import PollerOperations
import PollerTesting
import Testing

@testable import PollerAPI
@testable import PollerWatches

@Suite("Set-aside entries")
struct SetAsideRoutesTests {
    private static let bound = "key-of-acme-0123456789"
    private static let free = "key-of-everything-0123456789"
    private static let keys = "\(bound) role=admin account=acme\n\(free) role=admin"

    /// Sets an upstream event of an account aside.
    private static func setAside(_ name: String, _ api: LiveAPI) async throws -> String {
        let suspect = Suspect(
            .hint,
            partition: 1,
            name: name,
            account: AccountID(unchecked: "acme"),
            about: "src_1"
        )
        let at = Timestamp(ms: 1_795_165_200_125)
        let entry = SetAsideEntry(suspect, deaths: 3, firstAt: at, at: at)
        let store = try #require(api.backend.setAside)
        #expect(try await store.setAside(entry))
        return entry.id
    }

    @Test("an entry is listed and redriven once, and the redrive is audited")
    func redrive() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            let headers = bearer(Self.free)
            let watch = #"{"source":"src_1","account":"acme"}"#
            _ = try await api.request(.POST, "/v1/watches", body: watch, headers: headers)
            let id = try await Self.setAside("evt_1", api)
            let list = try await api.get("/v1/quarantine/entries", headers: headers)
            #expect(list.status == 200, "\(list.text)")
            let entry = try #require(list.list("data").first)
            #expect(entry["id"] as? String == id && entry["reader"] as? String == "hint")
            #expect(entry["about"] as? String == "src_1" && entry["deaths"] as? Int == 3)
            let path = "/v1/quarantine/entries/hint%3A1%3Aevt_1/redrive"
            let done = try await api.request(.POST, path, headers: headers)
            #expect(done.status == 200 && done["id"] == id, "\(done.text)")
            // Its watch is polled, because the event itself is before the sweep's cursor.
            let key = WatchKey("src_1", of: AccountID(unchecked: "acme"))
            #expect(try await api.store.snapshot(of: key)?.watch.hintedAt != nil)
            let again = try await api.request(.POST, path, headers: headers)
            #expect(again.status == 404 && again.code == "entry_not_found", "\(again.text)")
            let after = try await api.get("/v1/quarantine/entries", headers: headers)
            #expect(after.list("data").isEmpty)
            let audit = try await api.get("/v1/audit", headers: headers)
            let actions = audit.list("data").map { $0["action"] as? String }
            #expect(actions.contains("redriveSetAsideEntry"), "\(audit.text)")
        }
    }

    @Test("an entry is dismissed once")
    func dismiss() async throws {
        try await LiveAPI.run { api in
            let id = try await Self.setAside("evt_1", api)
            let done = try await api.post("/v1/quarantine/entries/\(id)/dismiss")
            #expect(done.status == 200 && done["id"] == id, "\(done.text)")
            let again = try await api.post("/v1/quarantine/entries/\(id)/dismiss")
            #expect(again.status == 404, "\(again.text)")
        }
    }

    @Test("a bound key can neither list nor change entries, even those of its account")
    func bound() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            let headers = bearer(Self.bound)
            let id = try await Self.setAside("evt_1", api)
            let list = try await api.get("/v1/quarantine/entries", headers: headers)
            #expect(list.status == 403, "\(list.text)")
            for action in ["redrive", "dismiss"] {
                let path = "/v1/quarantine/entries/\(id)/\(action)"
                let refused = try await api.request(.POST, path, headers: headers)
                #expect(refused.status == 404, "\(refused.text)")
            }
            #expect(try await api.backend.setAside?.setAsideEntries().count == 1)
        }
    }
}
