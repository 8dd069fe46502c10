//! Plugs on the network, replayed by a small server.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{a_while, close, metered, open, refused};
use crate::{MeterKind, Scope};

/// What a plug says.
enum Says {
    /// This, with status 200.
    Text(String),
    /// A status, with a short text.
    Status(u16),
    /// Nothing, and the connection stays.
    Nothing,
    /// Nothing, and the connection is closed.
    Close,
}

fn text(answer: &str) -> Says {
    Says::Text(answer.to_owned())
}

/// Serves what `answer` says of a path, asked for the n-th time, counting from 0; the address. Its threads end with the tests.
fn plug(answer: impl Fn(&str, usize) -> Says + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer: &'static _ = Box::leak(Box::new((answer, AtomicUsize::new(0))));
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || drop(serve(stream.unwrap(), &answer.0, &answer.1)));
        }
    });
    address
}

fn serve(stream: TcpStream, answer: &dyn Fn(&str, usize) -> Says, asked: &AtomicUsize) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    while reader.read_line(&mut line)? > 2 {}
    // Only the paths that are read again and again are counted.
    let number = if path == "/shelly" { 0 } else { asked.fetch_add(1, Ordering::SeqCst) };
    let (status, body) = match answer(&path, number) {
        Says::Text(body) => ("200 OK".to_owned(), body),
        Says::Status(status) => (format!("{status} Status"), "no".to_owned()),
        Says::Close => return Ok(()),
        Says::Nothing => {
            thread::sleep(Duration::from_secs(20));
            return Ok(());
        }
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    reader.get_mut().write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())
}

const GEN1: &str = r#"{"type":"SHPLG-S","mac":"7C87CEB4D1F2","auth":false,"fw":"20230913-113421/v1.14.0-gcb84623","discoverable":false,"longid":1,"num_outputs":1,"num_meters":1}"#;
const METER: &str = r#"{"power":12.34,"overpower":0.00,"is_valid":true,"timestamp":1606215925,"counters":[12.663, 12.776, 12.173],"total":394}"#;
const STATUS: &str = r#"{"wifi_sta":{"connected":true},"relays":[{"ison":true}],"meters":[{"power":4.55,"overpower":0.00,"is_valid":true,"timestamp":1600439798,"counters":[4.764, 4.757, 4.746],"total":102}],"uptime":62}"#;
const GEN2: &str = r#"{"name":null,"id":"shellyplusplugs-d4d4da7c6a4c","mac":"D4D4DA7C6A4C","slot":0,"model":"SNPL-00112EU","gen":2,"fw_id":"20231107-164738/1.0.8-g","ver":"1.0.8","app":"PlusPlugS","auth_en":false,"auth_domain":null}"#;
const TASMOTA: &str = r#"{"StatusSNS":{"Time":"2019-09-06T20:06:19","ENERGY":{"TotalStartTime":"2019-08-18T11:07:55","Total":0.003,"Yesterday":0.000,"Today":0.003,"Power":26,"ApparentPower":25,"ReactivePower":25,"Factor":0.06,"Voltage":239,"Current":0.106}}}"#;

fn switch(watts: f64, watt_hours: f64) -> Says {
    Says::Text(format!(
        r#"{{"id":0, "source":"init", "output":true, "apower":{watts}, "voltage":231.7, "current":0.088, "aenergy":{{"total":{watt_hours},"by_minute":[73.921,177.749,177.749],"minute_ts":1682952864}},"temperature":{{"tC":47.9, "tF":118.3}}}}"#
    ))
}

fn root() -> &'static Path {
    Path::new("/")
}

#[test]
fn a_shelly_of_the_first_generation_is_read() {
    let address = plug(|path, _| match path {
        "/shelly" => text(GEN1),
        "/meter/0" => text(METER),
        _ => Says::Status(404),
    });
    let energy = metered(&open(&format!("shelly:{address}"), root()).unwrap(), a_while);
    close(energy.watts, 12.34);
    assert_eq!((energy.kind, energy.scope, energy.is_counter), (MeterKind::Shelly, Scope::Wall, false));
    assert_eq!(energy.instrument, format!("Shelly SHPLG-S at http://{address}"));
    // Two decimals, and nobody states an accuracy but the user.
    close(energy.uncertainty.resolution_joules, 0.005 * energy.seconds);
    assert_eq!(energy.uncertainty.joules, None);
    let stated = open(&format!("shelly:http://{address}"), root()).unwrap().accurate_to(0.01);
    let energy = metered(&stated, a_while);
    close(energy.uncertainty.joules.unwrap(), 0.01 * energy.joules + 0.005 * energy.seconds);
}

#[test]
fn one_that_tells_its_meter_with_its_status_alone_is_read() {
    let address = plug(|path, _| match path {
        "/shelly" => text(GEN1),
        "/status" => text(STATUS),
        _ => Says::Status(404),
    });
    close(metered(&open(&format!("shelly:{address}"), root()).unwrap(), a_while).watts, 4.55);
}

#[test]
fn later_shellies_are_read_and_their_counter_is_taken_where_it_is_closer() {
    // Power jumps between 5 and 45 W, while the counter goes on by a tenth of a milliwatt-hour, 0.36 J, each time.
    let address = plug(|path, number| match path {
        "/shelly" => text(GEN2),
        "/rpc/Switch.GetStatus?id=0" => {
            switch(if number % 2 == 0 { 5.0 } else { 45.0 }, (7000.0 + number as f64) * 0.0001)
        }
        _ => Says::Status(404),
    });
    let energy = metered(&open(&format!("shelly:{address}"), root()).unwrap(), a_while);
    assert!(energy.is_counter, "{energy:?}");
    close(energy.joules, 0.36);
    close(energy.uncertainty.resolution_joules, 0.36);
    assert_eq!(energy.instrument, format!("Shelly SNPL-00112EU at http://{address}"));
}

#[test]
fn tasmota_is_read_with_all_its_channels() {
    let address = plug(|path, _| if path == "/cm?cmnd=Status%208" { text(TASMOTA) } else { Says::Status(404) });
    let energy = metered(&open(&format!("tasmota:{address}"), root()).unwrap(), a_while);
    close(energy.watts, 26.0);
    // Whole watts.
    close(energy.uncertainty.resolution_joules, 0.5 * energy.seconds);
    assert_eq!((energy.kind, energy.scope), (MeterKind::Tasmota, Scope::Wall));
    let address = plug(|_, _| Says::Text(TASMOTA.replace("\"Power\":26", "\"Power\":[26,4.5]")));
    close(metered(&open(&format!("tasmota:{address}"), root()).unwrap(), a_while).watts, 30.5);
}

#[test]
fn plugs_that_ask_for_a_password_are_told_of() {
    for says in [|| Says::Status(401), || text(r#"{"WARNING":"Need user=<username>&password=<password>"}"#)] {
        let address = plug(move |_, _| says());
        assert_eq!(
            refused(&format!("tasmota:{address}"), root()),
            format!(
                "http://{address} requires a password, which is not supported: disable it in the plug's settings \
                during the measurement"
            )
        );
    }
    // The first question of a Shelly is always answered.
    let address = plug(|path, _| if path == "/shelly" { text(GEN2) } else { Says::Status(401) });
    assert!(refused(&format!("shelly:{address}"), root()).contains("requires a password"));
}

#[test]
fn what_is_no_plug_is_told_with_what_it_said() {
    let html = plug(|_, _| text("<!DOCTYPE html>\n<title>A router</title>"));
    for (kind, expected) in
        [("shelly", "is it a Shelly plug that meters?"), ("tasmota", "is it a plug with Tasmota that meters?")]
    {
        let error = refused(&format!("{kind}:{html}"), root());
        assert!(error.contains("answered \"<!DOCTYPE html>\\n<title>") && error.ends_with(expected), "{error}");
    }
    let light = plug(|_, _| text(r#"{"StatusSNS":{"Time":"2017-02-11T18:06:05"}}"#));
    assert!(refused(&format!("tasmota:{light}"), root()).contains("without a number StatusSNS.ENERGY.Power"));
    let other = plug(|_, _| text("{}"));
    assert!(refused(&format!("shelly:{other}"), root()).contains("without its generation"));
    let switch = plug(|path, _| text(if path == "/shelly" { GEN2 } else { r#"{"id":0,"output":false}"# }));
    assert!(refused(&format!("shelly:{switch}"), root()).contains("without a number apower"));
    let invalid =
        plug(|path, _| text(if path == "/shelly" { GEN1 } else { r#"{"power":0.0,"is_valid":false,"total":0}"# }));
    assert!(refused(&format!("shelly:{invalid}"), root()).contains("its reading is not valid"));
    let broken = plug(|_, _| Says::Status(500));
    assert!(refused(&format!("tasmota:{broken}"), root()).contains("answered with status 500"));
}

#[test]
fn a_plug_that_hangs_or_is_not_there_is_told_of_in_time() {
    let address = plug(|_, _| Says::Nothing);
    let began = Instant::now();
    let error = refused(&format!("tasmota:{address}"), root());
    assert!(error.contains("did not answer (no reply within 2 s)"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // Nobody listens on a port that was just given back.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(refused(&format!("shelly:{closed}"), root()).contains("did not answer (Connection refused"));
}

#[test]
fn one_answer_that_is_missing_is_passed_over() {
    // Opening asks once, starting once; the third time is the thread's.
    let address = plug(|_, number| match number {
        2 => Says::Status(500),
        _ => text(TASMOTA),
    });
    let energy =
        metered(&open(&format!("tasmota:{address}"), root()).unwrap(), || thread::sleep(Duration::from_millis(1500)));
    close(energy.watts, 26.0);
    assert!(energy.samples == 2 && energy.longest_gap_seconds > 1.4, "{energy:?}");
}

#[test]
fn a_plug_that_is_gone_at_the_end_is_no_measurement() {
    let address = plug(|_, number| if number < 2 { text(TASMOTA) } else { Says::Close });
    let metering = open(&format!("tasmota:{address}"), root()).unwrap().start().unwrap();
    assert!(metering.stop().unwrap_err().to_string().contains("did not answer ("));
}
