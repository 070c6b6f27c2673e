import type { Agent } from "./agent";
import axios, { AxiosError } from "axios";

/** What can go wrong. */
export enum Failure { Timeout = "timeout", Refused = "refused" }

export type Result<T> = { ok: true; value: T } | { ok: false; failure: Failure };

/** Sends requests. */
export interface Transport<T = unknown> extends Base {
  readonly name: string;
  /** Sends one. */
  send(url: string, body?: T): Promise<Result<T>>;
}

declare module "agent" {
  export function agent(name: string): Agent;
}

export namespace Retry {
  export const TIMES: number = 3;
  export function wait(times: number): number {
    return times * 2;
  }
}

function parse(text: string): number;
function parse(text: string, radix?: number): number {
  return Number.parseInt(text, radix);
}

@Injectable({ scope: "root" })
export abstract class Client<T> implements Transport<T> {
  private static instance?: Client<any>;

  constructor(private readonly url: string) {}

  abstract get name(): string;

  @retry(3)
  async send(url: string, body?: T): Promise<Result<T>> {
    const response = await axios.post<T>(this.url, body);
    return this.unwrap(response)!.data;
  }

  protected abstract unwrap(response: unknown): any;
}

export const create = <T,>(url: string): Client<T> => new Concrete<T>(url);
declare const VERSION: string;
