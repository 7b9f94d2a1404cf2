import Foundation
import PollerTesting
import Testing

@testable import PollerAPI
@testable import PollerDeliveries

@Suite("pollerctl endpoint")
struct PollerctlEndpointTests {
    private static func run(_ api: LiveAPI, _ arguments: String...) async throws -> CommandRun {
        try await CommandRun.run(["endpoint"] + arguments, url: api.url)
    }

    private static func json(_ text: String) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(object as? [String: Any])
    }

    @Test("add, list, get, change, disable, enable and remove do their work")
    func life() async throws {
        try await LiveAPI.run { api in
            let added = try await Self.run(
                api,
                "add",
                "https://shop.example/hook",
                "--types",
                "source.*",
                "--final-only",
                "--metadata",
                "shop=berlin",
                "--retry",
                "5s,1m",
                "--timeout",
                "9s",
                "--rate",
                "2.5",
                "--header",
                "X-Key=a=b",
                "--payload",
                "thin",
                "--json"
            )
            #expect(added.status == 0, "\(added.errors)")
            let made = try Self.json(added.output)
            let id = try #require(made["id"] as? String)
            #expect((made["secret"] as? String)?.hasPrefix("whsec_") == true)
            #expect(made["retry"] as? [String] == ["5s", "1m"])
            #expect(made["headers"] as? [String: String] == ["X-Key": "(redacted)"])
            let listed = try await Self.run(api, "list")
            #expect(
                listed.output
                    == "\(id)\tenabled\tdefault\thttps://shop.example/hook\tsource.*\t-\t-\n"
            )
            let changed = try await Self.run(
                api,
                "change",
                id,
                "--retry",
                "fast",
                "--no-final-only",
                "--json"
            )
            #expect(changed.status == 0, "\(changed.errors)")
            let now = try Self.json(changed.output)
            #expect(now["retry"] as? String == "fast")
            #expect(now["final_only"] as? Bool == false)
            #expect(now["types"] as? [String] == ["source.*"])
            let off = try await Self.run(api, "disable", id, "--reason", "holidays")
            #expect(off.output == "\(id) is disabled\n")
            #expect(try await Self.run(api, "get", id).output.contains("disabled: holidays"))
            #expect(try await Self.run(api, "enable", id).output == "\(id) is enabled\n")
            let got = try await Self.run(api, "get", id)
            for fact in [
                "metadata  shop=berlin", "retry     fast", "timeout   9s",
                "limit     2.5/s, burst", "headers   X-Key\n", "payload   thin",
            ] {
                #expect(got.output.contains(fact), "\(fact) in \(got.output)")
            }
            #expect(!got.output.contains("whsec_"))
            #expect(try await Self.run(api, "remove", id).output == "\(id) is removed\n")
            let gone = try await Self.run(api, "get", id)
            #expect(gone.status == 1)
            #expect(gone.errors.contains("There is no endpoint"))
        }
    }

    @Test("test reports the receiver's response; rotate and secret print the secrets")
    func secrets() async throws {
        let channel = RecordingChannel()
        channel.script([.delivered, .failed("answered 500", code: 500)])
        try await LiveAPI.run(channels: [channel]) { api in
            let added = try await Self.run(api, "add", "https://shop.example/", "--json")
            let id = try #require(try Self.json(added.output)["id"] as? String)
            let good = try await Self.run(api, "test", id)
            #expect(good.status == 0)
            #expect(good.output.hasPrefix("accepted"))
            let bad = try await Self.run(api, "test", id)
            #expect(bad.status == 1)
            #expect(bad.output.contains("not accepted: server_error, answered 500"))
            #expect(bad.output.components(separatedBy: "500").count == 2, "the status appears once")
            let rotated = try await Self.run(api, "rotate", id, "--overlap", "1h")
            #expect(rotated.output.contains("whsec_"))
            #expect(rotated.output.contains("2 active"))
            let secret = try await Self.run(api, "secret")
            #expect(secret.output == EndpointBackend.inlineSecret + "\n")
        }
    }

    @Test("an endpoint's name can be used instead of its ID")
    func names() async throws {
        try await LiveAPI.run { api in
            let added = try await Self.run(
                api,
                "add",
                "https://shop.example/",
                "--name",
                "Warehouse",
                "--json"
            )
            let id = try #require(try Self.json(added.output)["id"] as? String)
            let got = try await Self.run(api, "get", "Warehouse")
            #expect(got.status == 0 && got.output.contains(id), "\(got.errors)")
            #expect(got.output.contains("Warehouse"))
            let off = try await Self.run(api, "disable", "Warehouse")
            #expect(off.output == "Warehouse (\(id)) is disabled\n", "\(off.errors)")
            let other = try await Self.run(
                api,
                "add",
                "https://b.example/",
                "--notify-by",
                "5m",
                "--fallback",
                "Warehouse",
                "--json"
            )
            let fallback = try Self.json(other.output)["notify_by"] as? [String: String]
            #expect(fallback?["endpoint"] == id, "\(other.errors)")
            let bare = try await Self.run(api, "change", "Warehouse", "--name", "", "--json")
            #expect(try Self.json(bare.output)["name"] is NSNull, "\(bare.errors)")
            let unknown = try await Self.run(api, "get", "Warehouse")
            #expect(unknown.status == 64)
            #expect(
                unknown.errors.contains(#"no endpoint has the name "Warehouse""#)
                    && unknown.errors.contains("pollerctl endpoint list"),
                "\(unknown.errors)"
            )
        }
    }

    @Test("changing an endpoint of another account by name requires --account")
    func otherAccount() async throws {
        try await LiveAPI.run { api in
            let url = "https://tenant.example/"
            let added = try await Self.run(
                api,
                "add",
                url,
                "--name",
                "billing",
                "--account",
                "acme",
                "--json"
            )
            let id = try #require(try Self.json(added.output)["id"] as? String, "\(added.errors)")
            for command in [["remove"], ["disable"], ["rotate"], ["change", "--rate", "5"]] {
                let run = try await CommandRun.run(
                    ["endpoint"] + command + ["billing"],
                    url: api.url
                )
                #expect(run.status == 64, "\(command): \(run.output)")
                #expect(run.errors.contains("belongs to account acme"), "\(run.errors)")
                #expect(run.errors.contains(id), "\(run.errors)")
            }
            // A read changes nothing.
            #expect(try await Self.run(api, "get", "billing").output.contains(id))
            let none = try await Self.run(api, "remove", "billing", "--account", "default")
            #expect(none.status == 64 && none.errors.contains(id), "\(none.errors)")
            let own = try await Self.run(
                api,
                "add",
                "https://own.example/",
                "--name",
                "billing",
                "--json"
            )
            let mine = try #require(try Self.json(own.output)["id"] as? String, "\(own.errors)")
            let twice = try await Self.run(api, "remove", "billing")
            #expect(twice.status == 64 && twice.errors.contains(mine), "\(twice.errors)")
            let gone = try await Self.run(api, "remove", "billing", "--account", "acme")
            #expect(gone.output == "billing (\(id)) is removed\n", "\(gone.errors)")
            let last = try await Self.run(api, "remove", "billing")
            #expect(last.output == "billing (\(mine)) is removed\n", "\(last.errors)")
        }
    }

    @Test("invalid options are rejected before a request is sent")
    func usage() async throws {
        for arguments in [
            ["change", "ep_x"], ["add"], ["add", "https://a.example/", "--notify-by", "5m"],
            ["add", "https://a.example/", "--timeout", "soon"],
            ["add", "https://a.example/", "--header", "novalue"],
        ] {
            let run = try await CommandRun.run(
                ["endpoint"] + arguments,
                url: "http://127.0.0.1:1"
            )
            #expect(run.status == 64, "\(arguments): \(run.errors)")
        }
    }
}
